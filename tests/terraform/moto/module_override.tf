# What moto, the AWS stand-in, does not have or does otherwise. Copied into a copy of the module; an override file of
# terraform replaces these arguments only.

# It heeds a bucket policy without its condition: "no access without TLS" is then "no access".
resource "aws_s3_bucket_policy" "this" {
  count = 0
}

# It answers with the template's own tags where those of the machines are asked for, so that each plan changes the template.
resource "aws_launch_template" "worker" {
  tags = null
}

# It invents a target for a hook that has none.
resource "aws_autoscaling_lifecycle_hook" "drain" {
  lifecycle {
    ignore_changes = [notification_target_arn, role_arn]
  }
}

# It has no placement groups.
resource "aws_placement_group" "workers" {
  count = 0
}

resource "aws_autoscaling_group" "workers" {
  placement_group = null
}

# It never tells the provider that it has the rules, which waits for them for a minute.
resource "aws_s3_bucket_lifecycle_configuration" "this" {
  count = 0
}
