# Limits of the machines, the network and the roles. Run by `terraform test`, without AWS.

mock_provider "aws" {
  source = "./tests/mocks"
}

variables {
  name         = "test"
  nodes        = 4
  release_file = "tests/release.txt"
  config_file  = "tests/gougi.toml"
}

run "machines_are_closed" {
  command = plan

  assert {
    condition     = aws_instance.head.metadata_options[0].http_tokens == "required" && aws_instance.head.metadata_options[0].http_put_response_hop_limit == 1
    error_message = "the head answers IMDSv1, or to containers"
  }
  assert {
    condition     = aws_launch_template.worker.metadata_options[0].http_tokens == "required" && aws_launch_template.worker.metadata_options[0].http_put_response_hop_limit == 1
    error_message = "a worker answers IMDSv1, or to containers"
  }
  assert {
    condition     = aws_instance.head.root_block_device[0].encrypted && aws_launch_template.worker.block_device_mappings[0].ebs[0].encrypted == "true"
    error_message = "a disk is not encrypted"
  }
  assert {
    condition     = aws_launch_template.worker.network_interfaces[0].associate_public_ip_address == "false"
    error_message = "workers have public addresses"
  }
  assert {
    condition     = length(aws_vpc_security_group_ingress_rule.ssh) == 0
    error_message = "SSH is open though nobody asked for it"
  }
  assert {
    condition     = alltrue([for rule in aws_vpc_security_group_ingress_rule.fleet : rule.cidr_ipv4 == null && rule.cidr_ipv6 == null])
    error_message = "Ray's ports are open to addresses, not to the group"
  }
  assert {
    condition     = length(aws_default_security_group.none[0].ingress) == 0
    error_message = "the default group lets somebody in"
  }
  assert {
    condition     = alltrue([for endpoint in aws_vpc_endpoint.interface : jsondecode(endpoint.policy).Statement[0].Condition == { StringEquals = { "aws:PrincipalAccount" = "123456789012" } }])
    error_message = "somebody else's keys get out by an endpoint"
  }
  assert {
    condition     = alltrue([for endpoint in aws_vpc_endpoint.interface : endpoint.private_dns_enabled])
    error_message = "workers do not find the endpoints by AWS's names"
  }
  assert {
    condition     = alltrue([for statement in jsondecode(aws_vpc_endpoint.s3[0].policy).Statement : alltrue([for resource in flatten([statement.Resource]) : can(regex("^arn:aws:s3:::(test-123456789012-us-east-1(/\\*)?|al2023-repos-us-east-1-\\*/\\*)$", resource))])])
    error_message = "workers reach other buckets"
  }
  assert {
    condition     = alltrue([for rule in concat(aws_vpc_security_group_egress_rule.workers_s3, aws_vpc_security_group_egress_rule.workers_endpoints) : rule.cidr_ipv4 == null && rule.cidr_ipv6 == null])
    error_message = "workers reach more than S3 and SSM"
  }
  assert {
    condition     = jsondecode(aws_s3_bucket_policy.this[0].policy).Statement[0].Effect == "Deny" && jsondecode(aws_s3_bucket_policy.this[0].policy).Statement[0].Condition == { Bool = { "aws:SecureTransport" = "false" } }
    error_message = "the bucket answers without TLS"
  }
  assert {
    condition     = length(aws_route_table.workers[0].route) == 0
    error_message = "workers have a way to the Internet"
  }
  assert {
    condition     = alltrue([for name in ["block_public_acls", "block_public_policy", "ignore_public_acls", "restrict_public_buckets"] : aws_s3_bucket_public_access_block.this[0][name]])
    error_message = "the bucket can be opened to the world"
  }
  assert {
    condition     = aws_s3_bucket_versioning.this[0].versioning_configuration[0].status == "Enabled"
    error_message = "a book that is written over is lost"
  }
  assert {
    condition     = one(aws_s3_bucket_server_side_encryption_configuration.this[0].rule).apply_server_side_encryption_by_default[0].sse_algorithm == "AES256"
    error_message = "the bucket is not encrypted"
  }
  assert {
    condition     = one(aws_s3_bucket_lifecycle_configuration.this[0].rule).noncurrent_version_expiration[0].noncurrent_days == 30 && !aws_s3_bucket.this[0].force_destroy
    error_message = "versions do not stay for a month, or a bucket with games goes"
  }
}

run "roles_are_narrow" {
  command = plan

  assert {
    condition     = !strcontains(aws_iam_role_policy.worker.policy, "ssm:PutParameter") && !strcontains(aws_iam_role_policy.worker.policy, "autoscaling:")
    error_message = "a worker has rights that only the head may have"
  }
  assert {
    condition = alltrue(flatten([
      for policy in [aws_iam_role_policy.head.policy, aws_iam_role_policy.worker.policy] : [
        for statement in jsondecode(policy).Statement : statement.Resource != "*" || alltrue([
          for action in statement.Action : can(regex("^(ssmmessages:|ssm:UpdateInstanceInformation$|autoscaling:Describe)", action))
        ])
      ]
    ]))
    error_message = "an action that knows resources is allowed on all"
  }
  assert {
    condition     = alltrue([for policy in [aws_iam_role_policy.head.policy, aws_iam_role_policy.worker.policy] : !can(regex("\"[a-z0-9]+:\\*\"", policy))])
    error_message = "a role may do everything of a service"
  }
}

run "fleets_that_share_a_bucket_keep_apart" {
  command = plan

  variables {
    bucket = "games"
  }
  assert {
    condition     = alltrue([for object in [aws_s3_object.release, aws_s3_object.config, aws_s3_object.master_env] : startswith(object.key, "test/")])
    error_message = "an object is not in the fleet's folder"
  }
  assert {
    condition = alltrue(flatten([
      for policy in [aws_iam_role_policy.head.policy, aws_iam_role_policy.worker.policy] : [
        for statement in jsondecode(policy).Statement : alltrue([
          for resource in flatten([statement.Resource]) : endswith(resource, ":s3:::games") || strcontains(resource, ":s3:::games/test/") || !strcontains(resource, ":s3:")
        ])
      ]
    ]))
    error_message = "a role may read or write objects of another fleet"
  }
}

run "no_secret_where_it_can_be_read" {
  command = plan

  variables {
    csa_password_parameter = "/mine/floodgate"
    kms_key_arn            = "arn:aws:kms:us-east-1:123456789012:key/k"
  }
  assert {
    condition     = strcontains(aws_instance.head.user_data, "FLEET_PASSWORD_PARAMETER=/mine/floodgate") && !strcontains(base64decode(aws_launch_template.worker.user_data), "floodgate")
    error_message = "the head needs the password's name, and nobody else"
  }
  assert {
    condition     = aws_ssm_parameter.ray_token.type == "SecureString" && aws_ssm_parameter.ray_token.value_wo_version == 1 && strcontains(aws_instance.head.user_data, "FLEET_KMS_KEY=${aws_ssm_parameter.ray_token.key_id}\n")
    error_message = "the token is stored as it is or in the state, or the head puts it under another key"
  }
  assert {
    condition     = !strcontains(aws_iam_role_policy.head.policy, "parameter/*") && !strcontains(aws_iam_role_policy.worker.policy, "parameter/*")
    error_message = "a role may read every parameter of the account"
  }
}

run "ssh_to_one_address" {
  command = plan

  variables {
    ssh = { key_name = "mine", cidrs = ["203.0.113.7/32"] }
  }
  assert {
    condition     = aws_vpc_security_group_ingress_rule.ssh["203.0.113.7/32"].from_port == 22 && aws_vpc_security_group_ingress_rule.ssh["203.0.113.7/32"].to_port == 22
    error_message = "SSH is something else"
  }
}
