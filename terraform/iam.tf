# The machines' rights in the account: no more than their work needs.

locals {
  asg_name           = "${var.name}-workers"
  asg_arn            = "arn:${local.partition}:autoscaling:${local.region}:${local.account}:autoScalingGroup:*:autoScalingGroupName/${local.asg_name}"
  parameter_arn      = "arn:${local.partition}:ssm:${local.region}:${local.account}:parameter"
  token_arn          = "${local.parameter_arn}${local.token_parameter}"
  password_arns      = var.csa_password_parameter == "" ? [] : ["${local.parameter_arn}${var.csa_password_parameter}"]
  assume_ec2         = jsonencode({ Version = "2012-10-17", Statement = [{ Effect = "Allow", Action = "sts:AssumeRole", Principal = { Service = "ec2.amazonaws.com" } }] })
  read_prefixes      = [for prefix in ["release", "config", "nets", "code"] : "${local.store_arn}/${prefix}/*"]
  kms_statement_list = var.kms_key_arn == null ? [] : [{ Sid = "Key", Effect = "Allow", Action = ["kms:Decrypt", "kms:GenerateDataKey"], Resource = var.kms_key_arn }]
  # To write the token: the writer encrypts a parameter of the standard tier.
  kms_statement_head = var.kms_key_arn == null ? [] : [{ Sid = "KeyForToken", Effect = "Allow", Action = ["kms:Encrypt"], Resource = var.kms_key_arn }]

  # Session Manager without AWS's own policy for it, which lets a machine read every parameter of the account.
  statements_of_all = concat([
    {
      Sid      = "SessionManager"
      Effect   = "Allow"
      Action   = ["ssm:UpdateInstanceInformation", "ssmmessages:CreateControlChannel", "ssmmessages:CreateDataChannel", "ssmmessages:OpenControlChannel", "ssmmessages:OpenDataChannel"]
      Resource = "*"
    },
    { Sid = "Read", Effect = "Allow", Action = ["s3:GetObject"], Resource = local.read_prefixes },
    # The log of a failed first boot.
    { Sid = "Failure", Effect = "Allow", Action = ["s3:PutObject"], Resource = ["${local.store_arn}/fleet/failures/*"] },
    # Without it S3 answers "forbidden" for an object that does not exist.
    { Sid = "List", Effect = "Allow", Action = ["s3:ListBucket"], Resource = [local.bucket_arn] },
  ], local.kms_statement_list)

  head_statements = concat(local.statements_of_all, local.kms_statement_head, [
    { Sid = "MakeToken", Effect = "Allow", Action = ["ssm:GetParameter", "ssm:PutParameter"], Resource = [local.token_arn] },
    { Sid = "Books", Effect = "Allow", Action = ["s3:GetObject"], Resource = ["${local.store_arn}/books/*"] },
    # keep-records.sh.
    { Sid = "Keep", Effect = "Allow", Action = ["s3:PutObject"], Resource = [for prefix in ["records", "logs", "books", "code"] : "${local.store_arn}/${prefix}/*"] },
    # `gougi fleet keep` decides about a worker by its report.
    { Sid = "Reports", Effect = "Allow", Action = ["s3:GetObject"], Resource = ["${local.store_arn}/fleet/machines/*"] },
    { Sid = "EndTheFleet", Effect = "Allow", Action = ["autoscaling:SetDesiredCapacity", "autoscaling:DeleteScheduledAction"], Resource = [local.asg_arn] },
    { Sid = "KeepTheGroup", Effect = "Allow", Action = ["autoscaling:CompleteLifecycleAction", "autoscaling:SetInstanceHealth", "autoscaling:SuspendProcesses"], Resource = [local.asg_arn] },
    { Sid = "LookAtTheFleet", Effect = "Allow", Action = ["autoscaling:DescribeAutoScalingGroups", "autoscaling:DescribeScheduledActions"], Resource = "*" },
    ], length(local.password_arns) == 0 ? [] : [
    { Sid = "Password", Effect = "Allow", Action = ["ssm:GetParameter"], Resource = local.password_arns },
  ])

  worker_statements = concat(local.statements_of_all, [
    { Sid = "Token", Effect = "Allow", Action = ["ssm:GetParameter"], Resource = [local.token_arn] },
    # `gougi fleet watch` reports the machine's state.
    { Sid = "Report", Effect = "Allow", Action = ["s3:PutObject"], Resource = ["${local.store_arn}/fleet/machines/*"] },
  ])
}

resource "aws_iam_role" "head" {
  name               = "${var.name}-head"
  description        = "Gougi's head: master and Ray's head"
  assume_role_policy = local.assume_ec2
  tags               = local.tags
}

resource "aws_iam_role_policy" "head" {
  # checkov:skip=CKV_AWS_290: the actions with Resource "*" (Session Manager's channels) know no resources
  # checkov:skip=CKV_AWS_355: as above, and the Describe actions know none either
  name   = "head"
  role   = aws_iam_role.head.id
  policy = jsonencode({ Version = "2012-10-17", Statement = local.head_statements })
}

resource "aws_iam_instance_profile" "head" {
  name = "${var.name}-head"
  role = aws_iam_role.head.name
  tags = local.tags
}

resource "aws_iam_role" "worker" {
  name               = "${var.name}-worker"
  description        = "Gougi's workers"
  assume_role_policy = local.assume_ec2
  tags               = local.tags
}

resource "aws_iam_role_policy" "worker" {
  # checkov:skip=CKV_AWS_290: the actions with Resource "*" (Session Manager's channels) know no resources
  # checkov:skip=CKV_AWS_355: as above
  name   = "worker"
  role   = aws_iam_role.worker.id
  policy = jsonencode({ Version = "2012-10-17", Statement = local.worker_statements })
}

resource "aws_iam_instance_profile" "worker" {
  name = "${var.name}-worker"
  role = aws_iam_role.worker.name
  tags = local.tags
}
