# Values that are rejected. Run by `terraform test`, without AWS.

mock_provider "aws" {
  source = "./tests/mocks"
}

variables {
  name         = "test"
  nodes        = 4
  release_file = "tests/release.txt"
  config_file  = "tests/gougi.toml"
}

run "bad_variables_are_named" {
  command = plan

  variables {
    name                   = "Not A Name"
    nodes                  = 1.5
    instance_types         = ["c7i.4xlarge", "c7i.4xlarge"]
    auto_stop_hours        = 0
    csa_password_parameter = "hunter2"
    image                  = "ubuntu"
    budget                 = { usd = 10, email = "nobody" }
    tags                   = { gougi-fleet = "mine" }
  }
  expect_failures = [
    var.name, var.nodes, var.instance_types, var.auto_stop_hours, var.csa_password_parameter, var.image, var.budget, var.tags,
  ]
}

run "more_bad_variables_are_named" {
  command = plan

  variables {
    head_instance_type    = "large"
    searchers_per_machine = 0
    on_demand_nodes       = -1
    spot_percent          = 101
    spot_max_usd_per_hour = 0
    usd_per_hour          = { "c7i.large" = 0 }
    price_cap_usd         = 0
    csa_port              = 0
    root_volume_gb        = 9
    vpc_cidr              = "10.0.0.0/24"
    kms_key_arn           = "mine"
    auto_stop_hours       = 721
    release_file          = "none.tar"
    config_file           = "none.toml"
  }
  expect_failures = [
    var.head_instance_type, var.searchers_per_machine, var.on_demand_nodes, var.spot_percent, var.spot_max_usd_per_hour,
    var.usd_per_hour, var.price_cap_usd, var.csa_port, var.root_volume_gb, var.vpc_cidr, var.kms_key_arn,
    var.auto_stop_hours, var.release_file, var.config_file,
  ]
}

run "ssh_not_to_the_world" {
  command = plan

  variables {
    ssh = { key_name = "mine", cidrs = ["0.0.0.0/0"] }
  }
  expect_failures = [var.ssh]
}

run "price_cap_needs_prices" {
  command = plan

  variables {
    instance_types = ["x9.unheard"]
    price_cap_usd  = 5
  }
  expect_failures = [terraform_data.clock]
}

run "a_type_without_a_price_is_named" {
  command = plan

  variables {
    instance_types = ["c7i.4xlarge", "x9.unheard"]
  }
  assert {
    condition     = one(output.unpriced) == "x9.unheard" && output.usd_per_hour.all == null
    error_message = "a price was made up, or the type without one is not named: ${jsonencode(output.unpriced)}"
  }
}

run "only_what_the_release_is_for" {
  command = plan

  override_data {
    target = data.aws_ec2_instance_type.this
    values = { default_vcpus = 16, memory_size = 32768, supported_architectures = ["arm64"] }
  }
  expect_failures = [terraform_data.image]
}

run "zone_must_offer_the_types" {
  command = plan

  variables {
    availability_zone = "us-east-1f"
  }
  expect_failures = [aws_subnet.head]
}
