# Sizes, costs and end of the fleet as its variables set them. Run by `terraform test`, without AWS.

mock_provider "aws" {
  source = "./tests/mocks"
}

variables {
  name         = "test"
  nodes        = 4
  release_file = "tests/release.txt"
  config_file  = "tests/gougi.toml"
}

run "workers_follow_the_fleet" {
  command = plan

  assert {
    condition     = aws_s3_object.master_env.content == "GOUGI_ENGINE_THREADS=16\nGOUGI_ENGINE_HASH_MB=16384\n"
    error_message = "threads and table do not follow from the machine"
  }
  assert {
    condition     = aws_autoscaling_group.workers.capacity_rebalance && aws_autoscaling_lifecycle_hook.drain.lifecycle_transition == "autoscaling:EC2_INSTANCE_TERMINATING"
    error_message = "spot workers are not replaced, or do not drain"
  }
  assert {
    condition     = aws_autoscaling_group.workers.mixed_instances_policy[0].instances_distribution[0].on_demand_base_capacity == 0
    error_message = "the policy follows the number of nodes: each scaling would refresh all machines"
  }
  assert {
    condition     = aws_autoscaling_schedule.stop.desired_capacity == 0 && aws_autoscaling_schedule.stop.min_size == 0 && aws_autoscaling_schedule.stop.max_size == -1 && output.stop_after_hours == 12
    error_message = "the fleet does not end by itself, or not after 12 hours"
  }
  assert {
    condition     = aws_autoscaling_group.workers.min_size == 0 && aws_autoscaling_group.workers.max_size == 4 && aws_autoscaling_group.workers.desired_capacity == 4
    error_message = "the group has another size"
  }
  assert {
    condition     = aws_autoscaling_group.workers.health_check_type == "EC2" && aws_autoscaling_group.workers.placement_group == null
    error_message = "the group asks a load balancer that is not there, or wants its machines in one place"
  }
  assert {
    condition     = aws_autoscaling_lifecycle_hook.drain.heartbeat_timeout == 30 && aws_autoscaling_lifecycle_hook.drain.default_result == "CONTINUE"
    error_message = "a worker that has gone is held, or its group is not"
  }
  assert {
    condition     = aws_autoscaling_lifecycle_hook.joined.lifecycle_transition == "autoscaling:EC2_INSTANCE_LAUNCHING" && aws_autoscaling_lifecycle_hook.joined.default_result == "CONTINUE" && aws_autoscaling_lifecycle_hook.joined.heartbeat_timeout == 900
    error_message = "a machine counts before it searches, or never without a head"
  }
  assert {
    condition     = aws_autoscaling_group.workers.wait_for_capacity_timeout == "0" && aws_autoscaling_group.workers.instance_refresh[0].preferences[0].min_healthy_percentage == 90
    error_message = "an apply waits for machines, or a new release ends many at once"
  }
  assert {
    condition     = aws_ec2_instance_state.head.state == "running" && aws_instance.head.user_data_replace_on_change
    error_message = "a head that is off stays off, or keeps the release of before"
  }
  assert {
    condition     = aws_launch_template.worker.block_device_mappings[0].device_name == "/dev/xvda" && aws_launch_template.worker.block_device_mappings[0].ebs[0].delete_on_termination == "true"
    error_message = "the disk that is described is not the root device of Amazon Linux, or stays after its machine"
  }
  assert {
    condition     = aws_instance.head.instance_type == "c7i.xlarge"
    error_message = "the head of a small fleet is a ${aws_instance.head.instance_type}"
  }
  assert {
    condition     = aws_instance.head.instance_initiated_shutdown_behavior == "stop" && aws_launch_template.worker.instance_initiated_shutdown_behavior == "terminate"
    error_message = "a head that ends by itself loses its disk, or a worker that failed stays"
  }
  assert {
    condition     = strcontains(base64decode(aws_launch_template.worker.user_data), "FLEET_HEAD=10.81.0.10")
    error_message = "workers do not know the head"
  }
  assert {
    condition     = output.zone == aws_subnet.head[0].availability_zone && output.zone == aws_subnet.workers[0].availability_zone
    error_message = "the fleet is elsewhere: ${output.zone}"
  }
}

run "cost_is_known" {
  command = plan

  variables {
    price_cap_usd = 7.5
  }
  # 16 virtual CPUs of c7i in us-east-1: 0.714 each of 4 nodes and the (mocked) head, an address and two endpoints beside.
  assert {
    condition     = abs(output.usd_per_hour.node - 0.714) < 0.0001 && abs(output.usd_per_hour.all - (5 * 0.714 + 0.005 + 0.02)) < 0.0001
    error_message = "an hour costs something else: ${jsonencode(output.usd_per_hour)}"
  }
  assert {
    condition     = output.stop_after_hours > 2.0 && output.stop_after_hours <= 7.5 / output.usd_per_hour.all
    error_message = "the price cap does not cut the hours: ${output.stop_after_hours}"
  }
}

run "a_large_fleet_has_a_large_head" {
  command = plan

  variables {
    nodes = 64
  }
  assert {
    condition     = aws_instance.head.instance_type == "c7i.4xlarge"
    error_message = "the head of 64 nodes is a ${aws_instance.head.instance_type}"
  }
  assert {
    condition     = endswith(aws_s3_object.master_env.content, "\nRAY_health_check_period_ms=1000\nRAY_health_check_timeout_ms=1500\nRAY_health_check_failure_threshold=4\n")
    error_message = "Ray's head asks 64 machines as often as a few"
  }
}

run "existing_network" {
  command = plan

  variables {
    network = { vpc_id = "vpc-1", head_subnet_id = "subnet-1", worker_subnet_id = "subnet-2" }
  }
  assert {
    condition     = length(aws_vpc.this) == 0 && length(aws_vpc_endpoint.interface) == 0 && aws_instance.head.subnet_id == "subnet-1"
    error_message = "something is made beside the network that is there"
  }
}

run "mixed_spot" {
  command = plan

  variables {
    nodes           = 10
    on_demand_nodes = 2
    spot_percent    = 75
    budget          = { usd = 10, email = "you@example.org" }
  }
  assert {
    condition     = output.spot_nodes == 6 && aws_autoscaling_group.workers.mixed_instances_policy[0].instances_distribution[0].on_demand_percentage_above_base_capacity == 25
    error_message = "of 8 nodes beyond the first 2, 6 are spot; not ${output.spot_nodes}"
  }
  assert {
    condition     = length(aws_budgets_budget.month) == 1 && one(aws_budgets_budget.month[0].cost_filter).values == tolist(["user:gougi-fleet$test"])
    error_message = "there is no budget of this fleet"
  }
  assert {
    condition     = { for notice in aws_budgets_budget.month[0].notification : notice.notification_type => notice.threshold } == { ACTUAL = 80, FORECASTED = 100 }
    error_message = "the budget warns at another share"
  }
}
