# Facts about a fleet, for `gougi fleet` and for people. None is secret. A root module that calls this one passes them on as
# one output: `output "fleet" { value = module.fleet }`.

output "name" {
  description = "Name of the fleet: the value of the tag `gougi-fleet` on all its parts."
  value       = var.name
}

output "region" {
  description = "The AWS region."
  value       = data.aws_region.current.name
}

output "zone" {
  description = "The zone of all machines; null in an existing network. gougi fleet keeps it as availability_zone while the fleet exists."
  value       = local.make_network ? local.zone : null
}

output "tags" {
  description = "The tags of all the fleet's resources. A resource that still has the tag `gougi-fleet` after a destroy is left over."
  value       = local.tags
}

output "nodes" {
  description = "Number of worker machines requested."
  value       = var.nodes
}

output "asg_name" {
  description = "The workers' auto-scaling group."
  value       = aws_autoscaling_group.workers.name
}

output "lifecycle_hook_name" {
  description = "The hook that holds a worker until it has drained."
  value       = aws_autoscaling_lifecycle_hook.drain.name
}

output "stop_action_name" {
  description = "The scheduled action that sets the workers to 0."
  value       = aws_autoscaling_schedule.stop.scheduled_action_name
}

output "stop_after_hours" {
  description = "Hours after which the fleet ends by itself: auto_stop_hours, or fewer if price_cap_usd requires it."
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
  description = "Names (not values) of the secrets in SSM Parameter Store: ray_token, which the head's first boot makes, and csa_password, null if the head plays on no server."
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
  description = "The live log of the head's services."
  value       = "aws ssm start-session --region ${data.aws_region.current.name} --target ${aws_instance.head.id} --document-name AWS-StartInteractiveCommand --parameters 'command=[\"sudo journalctl -f -u gougi-*\"]'"
}

output "scale_command" {
  description = "Append the number of nodes, and run it in the folder of the root module."
  value       = "terraform apply -var nodes="
}

output "vpc_id" {
  description = "The fleet's VPC."
  value       = local.vpc_id
}

output "usd_per_hour" {
  description = "Cost of an hour at on-demand prices, in US dollars: of the head, of one node (the most expensive type), of endpoints and the head's address, and the total at the present size. An unknown price is null; spot nodes cost less."
  value       = local.usd_per_hour
}

output "unpriced" {
  description = "Instance types without a known price: neither prices.json nor usd_per_hour has it."
  value       = local.unpriced
}

output "spot_nodes" {
  description = "Number of spot nodes."
  value       = local.spot_nodes
}
