# Facts about a fleet, for `gougi fleet` and for people. None is secret. A root module that calls this one passes them on as
# one output: `output "fleet" { value = module.fleet }`.

output "name" {
  description = "Name of the fleet: the value of the tag `gougi-fleet` on all that belongs to it."
  value       = var.name
}

output "region" {
  description = "The AWS region."
  value       = data.aws_region.current.name
}

output "zone" {
  description = "The zone of all machines; null in a network that was there before. gougi fleet keeps it as availability_zone for as long as the fleet is there."
  value       = local.make_network ? local.zone : null
}

output "tags" {
  description = "The tags on everything of the fleet; what still carries `gougi-fleet` after a destroy was left behind."
  value       = local.tags
}

output "nodes" {
  description = "How many worker machines are asked for."
  value       = var.nodes
}

output "asg_name" {
  description = "The workers' auto-scaling group."
  value       = aws_autoscaling_group.workers.name
}

output "lifecycle_hook_name" {
  description = "The hook that holds a worker that is to go until it has drained."
  value       = aws_autoscaling_lifecycle_hook.drain.name
}

output "stop_action_name" {
  description = "The scheduled action that sets the workers to 0."
  value       = aws_autoscaling_schedule.stop.scheduled_action_name
}

output "stop_after_hours" {
  description = "Hours after which the fleet ends by itself: auto_stop_hours, or sooner where price_cap_usd asks for it."
  value       = local.stop_after_hours
}

output "head_instance_id" {
  description = "The head: master and Ray's head."
  value       = aws_instance.head.id
}

output "head_private_ip" {
  description = "The head's address inside the fleet; Ray's head listens on its port 6379."
  value       = aws_instance.head.private_ip
}

output "bucket" {
  description = "Bucket with release/, config/, books/, nets/, records/ and logs/, in a folder with the fleet's name."
  value       = local.bucket
}

output "bucket_is_own" {
  description = "Whether the bucket was made with the fleet and goes with it."
  value       = local.make_bucket
}

output "parameters" {
  description = "Names (not values) of the secrets in SSM Parameter Store: ray_token, which the head's first boot makes, and csa_password, null where the head plays on no server."
  value = {
    ray_token    = aws_ssm_parameter.ray_token.name
    csa_password = var.csa_password_parameter == "" ? null : var.csa_password_parameter
  }
}

output "session_command" {
  description = "A shell on the head, without an open port."
  value       = "aws ssm start-session --region ${data.aws_region.current.name} --target ${aws_instance.head.id}"
}

output "log_command" {
  description = "What the head's services say, as they say it."
  value       = "aws ssm start-session --region ${data.aws_region.current.name} --target ${aws_instance.head.id} --document-name AWS-StartInteractiveCommand --parameters 'command=[\"sudo journalctl -f -u gougi-*\"]'"
}

output "scale_command" {
  description = "Put the number of nodes behind it; run it in the folder of the root module."
  value       = "terraform apply -var nodes="
}

output "vpc_id" {
  description = "The fleet's VPC."
  value       = local.vpc_id
}

output "usd_per_hour" {
  description = "What an hour costs at on-demand prices, in US dollars: of the head, of one node (the dearest type), of what stands beside them (endpoints, the head's address), and of all at the size now. A price that is not known is null; spot nodes cost less."
  value       = local.usd_per_hour
}

output "unpriced" {
  description = "Types of machine whose price is not known: neither prices.json nor usd_per_hour has it."
  value       = local.unpriced
}

output "spot_nodes" {
  description = "How many of the nodes are spot."
  value       = local.spot_nodes
}
