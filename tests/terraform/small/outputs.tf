output "name" { value = var.name }

output "region" { value = data.aws_region.current.name }

output "zone" { value = aws_subnet.workers.availability_zone }

output "bucket" { value = aws_s3_bucket.this[0].bucket }

output "bucket_is_own" { value = true }

output "nodes" { value = var.nodes }

output "asg_name" { value = aws_autoscaling_group.workers.name }

output "head_instance_id" { value = "i-0" }

output "session_command" { value = "none" }

output "parameters" { value = { csa_password = null } }
