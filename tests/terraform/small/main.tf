# A fleet of few things, for tests in which commands are killed: a kind of each that a removal treats in its own way, and
# the outputs that `gougi fleet` reads. The real module takes the provider four times as long.

terraform {
  required_providers {
    aws = {
      source  = "hashicorp/aws"
      version = "~> 5.0"
    }
  }
}

locals {
  tags = { gougi-fleet = var.name }
}

data "aws_region" "current" {}

resource "aws_vpc" "this" {
  cidr_block = "10.81.0.0/16"
  tags       = local.tags
}

resource "aws_internet_gateway" "this" {
  vpc_id = aws_vpc.this.id
  tags   = local.tags
}

resource "aws_subnet" "workers" {
  vpc_id     = aws_vpc.this.id
  cidr_block = "10.81.16.0/20"
  tags       = local.tags
}

# Two that name each other.
resource "aws_security_group" "this" {
  for_each = toset(["fleet", "workers"])
  name     = "${var.name}-${each.key}"
  vpc_id   = aws_vpc.this.id
  tags     = local.tags
}

resource "aws_vpc_security_group_ingress_rule" "this" {
  for_each                     = aws_security_group.this
  security_group_id            = each.value.id
  referenced_security_group_id = aws_security_group.this[each.key == "fleet" ? "workers" : "fleet"].id
  ip_protocol                  = "tcp"
  from_port                    = 6379
  to_port                      = 6379
  tags                         = local.tags
}

resource "aws_launch_template" "worker" {
  name          = "${var.name}-worker"
  image_id      = "ami-12c6146b"
  instance_type = var.instance_types[0]
  tags          = local.tags

  tag_specifications {
    resource_type = "instance"
    tags          = local.tags
  }

  # moto answers with the template's own tags where those of the machines are asked for.
  lifecycle {
    ignore_changes = [tag_specifications]
  }
}

resource "aws_autoscaling_group" "workers" {
  name                      = "${var.name}-workers"
  min_size                  = 0
  max_size                  = var.nodes
  desired_capacity          = var.nodes
  vpc_zone_identifier       = [aws_subnet.workers.id]
  wait_for_capacity_timeout = "0"

  launch_template {
    id = aws_launch_template.worker.id
  }
  tag {
    key                 = "gougi-fleet"
    value               = var.name
    propagate_at_launch = true
  }

  # moto answers with an empty block where nothing was asked for.
  lifecycle {
    ignore_changes = [capacity_reservation_specification]
  }
}

resource "aws_iam_role" "head" {
  name               = "${var.name}-head"
  assume_role_policy = jsonencode({ Version = "2012-10-17", Statement = [{ Effect = "Allow", Action = "sts:AssumeRole", Principal = { Service = "ec2.amazonaws.com" } }] })
  tags               = local.tags
}

resource "aws_iam_role_policy" "head" {
  name   = "head"
  role   = aws_iam_role.head.id
  policy = jsonencode({ Version = "2012-10-17", Statement = [{ Effect = "Allow", Action = "s3:GetObject", Resource = "*" }] })
}

resource "aws_iam_instance_profile" "head" {
  name = "${var.name}-head"
  role = aws_iam_role.head.name
  tags = local.tags
}

resource "aws_s3_bucket" "this" {
  count  = 1
  bucket = "${var.name}-123456789012-${data.aws_region.current.name}"
  tags   = local.tags
}

resource "aws_ssm_parameter" "token" {
  name  = "/gougi/${var.name}/ray-token"
  type  = "String"
  value = "unset"
  tags  = local.tags
}
