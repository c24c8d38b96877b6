# The workers: a launch template and an auto-scaling group.

resource "aws_placement_group" "workers" {
  count    = var.placement_group ? 1 : 0
  name     = "${var.name}-workers"
  strategy = "cluster"
  tags     = local.tags
}

resource "aws_launch_template" "worker" {
  name          = "${var.name}-worker"
  description   = "A worker of Gougi"
  image_id      = terraform_data.image.output
  instance_type = var.instance_types[0]
  ebs_optimized = true
  # A worker that shuts itself down has failed its first boot; the group makes another.
  instance_initiated_shutdown_behavior = "terminate"
  user_data = base64encode(templatefile(local.machine_template, merge(local.machine_facts, {
    role     = "node"
    head     = local.head_address
    password = ""
  })))
  update_default_version = true
  tags                   = local.tags

  iam_instance_profile {
    name = aws_iam_instance_profile.worker.name
  }

  network_interfaces {
    associate_public_ip_address = false
    delete_on_termination       = true
    security_groups             = [aws_security_group.fleet.id, aws_security_group.workers.id]
  }

  metadata_options {
    http_endpoint               = "enabled"
    http_tokens                 = "required"
    http_put_response_hop_limit = 1
  }

  block_device_mappings {
    device_name = "/dev/xvda"

    ebs {
      volume_type           = "gp3"
      volume_size           = var.root_volume_gb
      encrypted             = true
      kms_key_id            = var.kms_key_arn
      delete_on_termination = true
    }
  }

  dynamic "tag_specifications" {
    for_each = ["instance", "volume", "network-interface"]
    content {
      resource_type = tag_specifications.value
      tags          = merge(local.tags, { Name = "${var.name}-worker", gougi-role = "node" })
    }
  }
}

resource "aws_autoscaling_group" "workers" {
  name                      = local.asg_name
  min_size                  = 0
  max_size                  = var.nodes
  desired_capacity          = var.nodes
  vpc_zone_identifier       = [local.worker_subnet_id]
  placement_group           = var.placement_group ? aws_placement_group.workers[0].id : null
  health_check_type         = "EC2"
  health_check_grace_period = 300
  capacity_rebalance        = true # a spot worker at risk gets its successor before it ends
  # `gougi fleet` itself waits until the nodes have joined and are warm.
  wait_for_capacity_timeout = "0"
  termination_policies      = ["OldestLaunchTemplate", "NewestInstance"]
  enabled_metrics           = ["GroupInServiceInstances", "GroupPendingInstances", "GroupTerminatingInstances"]

  mixed_instances_policy {
    instances_distribution {
      # Nothing here may depend on the number of nodes: a change of this policy starts an instance refresh.
      on_demand_base_capacity                  = var.on_demand_nodes == null ? 0 : var.on_demand_nodes
      on_demand_percentage_above_base_capacity = var.on_demand_nodes == null ? 100 : 100 - var.spot_percent
      on_demand_allocation_strategy            = "prioritized"
      spot_allocation_strategy                 = "price-capacity-optimized"
      spot_max_price                           = var.spot_max_usd_per_hour == null ? "" : tostring(var.spot_max_usd_per_hour)
    }

    launch_template {
      launch_template_specification {
        launch_template_id = aws_launch_template.worker.id
        version            = aws_launch_template.worker.latest_version
      }

      dynamic "override" {
        for_each = var.instance_types
        content {
          instance_type = override.value
        }
      }
    }
  }

  # Another release replaces a few machines at a time.
  instance_refresh {
    strategy = "Rolling"

    preferences {
      min_healthy_percentage = 90
      instance_warmup        = 0 # the hook below waits instead
    }
  }

  dynamic "tag" {
    for_each = merge(local.tags, { Name = "${var.name}-worker", gougi-role = "node" })
    content {
      key                 = tag.key
      value               = tag.value
      propagate_at_launch = true
    }
  }

  # A worker's boot needs these, and they are destroyed after the workers.
  depends_on = [
    aws_s3_object.config,
    aws_s3_object.master_env,
    aws_ssm_parameter.ray_token,
    aws_iam_role_policy.worker,
    aws_route_table_association.workers,
    aws_vpc_security_group_egress_rule.workers_s3,
    aws_vpc_security_group_egress_rule.workers_endpoints,
  ]
}

# A worker that must end waits in this hook while it drains (less than a second after it knows). It reads its target state
# from the metadata service, so it needs neither a permission nor access to the auto-scaling API. The head completes the
# hook (master/cloud/keep.py); otherwise the hook times out.
resource "aws_autoscaling_lifecycle_hook" "drain" {
  name                   = "drain"
  autoscaling_group_name = aws_autoscaling_group.workers.name
  lifecycle_transition   = "autoscaling:EC2_INSTANCE_TERMINATING"
  heartbeat_timeout      = 30
  default_result         = "CONTINUE"
}

# A new worker counts when it can search: then the head completes this hook. Until then the group ends no other machine for
# it, and a refresh does not go on. Without a head it counts after the time of the slowest boot.
resource "aws_autoscaling_lifecycle_hook" "joined" {
  name                   = "joined"
  autoscaling_group_name = aws_autoscaling_group.workers.name
  lifecycle_transition   = "autoscaling:EC2_INSTANCE_LAUNCHING"
  heartbeat_timeout      = 900
  default_result         = "CONTINUE"
}
