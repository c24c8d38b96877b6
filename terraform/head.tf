# The head: the master and Ray's head. It searches only as the fallback.

data "aws_ssm_parameter" "image" {
  count = startswith(var.image, "/") ? 1 : 0
  name  = var.image
}

# The image is chosen once, and again with another release or another variable. Otherwise a newer image at AWS would replace
# machines in the middle of a game when somebody scales the fleet.
resource "terraform_data" "image" {
  input            = startswith(var.image, "/") ? nonsensitive(data.aws_ssm_parameter.image[0].value) : var.image
  triggers_replace = [var.image, local.release_sha]

  lifecycle {
    ignore_changes = [input]

    precondition {
      condition     = length(local.foreign) == 0
      error_message = "${join(", ", local.foreign)}: not of x86-64, for which the release's packages and the image are."
    }
  }
}

locals {
  machine_template = "${path.module}/../deploy/cloud-init/machine.yaml.tftpl"
  machine_facts = {
    name        = var.name
    region      = local.region
    bucket      = local.bucket
    release_key = aws_s3_object.release.key # no machine boots before the object exists
    release_sha = local.release_sha
    asg         = local.asg_name
    token       = local.token_parameter
    key         = var.kms_key_arn == null ? "" : var.kms_key_arn
    searchers   = var.searchers_per_machine
  }
}

resource "aws_instance" "head" {
  # checkov:skip=CKV_AWS_88: it plays on a server in the Internet; its security groups let nobody in
  # checkov:skip=CKV_AWS_126: detailed monitoring costs money and decides nothing here
  ami                                  = terraform_data.image.output
  instance_type                        = local.head_type
  subnet_id                            = local.head_subnet_id
  private_ip                           = local.head_fixed
  associate_public_ip_address          = true
  vpc_security_group_ids               = [aws_security_group.fleet.id, aws_security_group.head.id]
  iam_instance_profile                 = aws_iam_instance_profile.head.name
  key_name                             = var.ssh == null ? null : var.ssh.key_name
  ebs_optimized                        = true
  instance_initiated_shutdown_behavior = "stop" # its disk survives its own shutdown
  user_data = templatefile(local.machine_template, merge(local.machine_facts, {
    role     = "head"
    head     = "127.0.0.1"
    password = var.csa_password_parameter
  }))
  user_data_replace_on_change = true
  tags                        = merge(local.tags, { Name = "${var.name}-head", gougi-role = "head" })
  volume_tags                 = merge(local.tags, { Name = "${var.name}-head" })

  metadata_options {
    http_endpoint               = "enabled"
    http_tokens                 = "required"
    http_put_response_hop_limit = 1
  }

  root_block_device {
    volume_type = "gp3"
    volume_size = var.root_volume_gb
    encrypted   = true
    kms_key_id  = var.kms_key_arn
  }

  # A stopped instance is read back with "no public address", which would replace a head that shut itself down, and its disk
  # (terraform-provider-aws, issues 33775 and 37238).
  lifecycle {
    ignore_changes = [associate_public_ip_address]
  }

  # The first boot fetches these and needs the permission.
  depends_on = [aws_s3_object.release, aws_s3_object.config, aws_s3_object.master_env, aws_iam_role_policy.head, aws_route_table_association.head, aws_vpc_security_group_egress_rule.head]
}

# The next apply starts a head that shut itself down.
resource "aws_ec2_instance_state" "head" {
  instance_id = aws_instance.head.id
  state       = "running"
}
