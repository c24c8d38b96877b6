# What moto, the AWS stand-in, does not have or does otherwise. Copied into a copy of the module; an override file of
# terraform replaces these arguments only.

# It heeds a bucket policy without its condition: "no access without TLS" is then "no access".
resource "aws_s3_bucket_policy" "this" {
  count = 0
}

# It answers with the template's own tags where those of the machines are asked for, so that each plan changes the template.
resource "aws_launch_template" "worker" {
  lifecycle {
    ignore_changes = [tag_specifications]
  }
}

# It invents a target for a hook that has none.
resource "aws_autoscaling_lifecycle_hook" "drain" {
  lifecycle {
    ignore_changes = [notification_target_arn, role_arn]
  }
}

resource "aws_autoscaling_lifecycle_hook" "joined" {
  lifecycle {
    ignore_changes = [notification_target_arn, role_arn]
  }
}

# It answers with an empty block where nothing was asked for.
resource "aws_autoscaling_group" "workers" {
  lifecycle {
    ignore_changes = [capacity_reservation_specification]
  }
}

# It has no placement groups.
resource "aws_placement_group" "workers" {
  count = 0
}


# It never tells the provider that it has the rules, which waits for them for a minute.
resource "aws_s3_bucket_lifecycle_configuration" "this" {
  count = 0
}

# It forgets these, so that each plan would set them again.
resource "aws_instance" "head" {
  lifecycle {
    ignore_changes = [associate_public_ip_address, vpc_security_group_ids]
  }
}

resource "aws_vpc_security_group_ingress_rule" "fleet" {
  description = null
}

resource "aws_vpc_security_group_ingress_rule" "endpoints" {
  description = null
}

resource "aws_vpc_security_group_egress_rule" "fleet" {
  description = null
}

resource "aws_vpc_security_group_egress_rule" "workers_endpoints" {
  description = null
}

resource "aws_vpc_security_group_egress_rule" "workers_s3" {
  description = null
}
