# The bucket, the objects that machines fetch from it, and the secrets. Each fleet has a folder with its name, so fleets can
# share a bucket.

locals {
  make_bucket = var.bucket == null
  bucket      = local.make_bucket ? aws_s3_bucket.this[0].bucket : var.bucket
  bucket_arn  = "arn:${local.partition}:s3:::${local.bucket}"
  release_sha = filesha256(var.release_file)
  store_arn   = "${local.bucket_arn}/${var.name}"
  release_key = "${var.name}/release/${local.release_sha}.tar"
}

resource "aws_s3_bucket" "this" {
  # checkov:skip=CKV_AWS_18: access logs need a second bucket; two roles have access
  # checkov:skip=CKV_AWS_144: games are not worth a second region
  # checkov:skip=CKV2_AWS_62: nobody waits for events of this bucket
  # checkov:skip=CKV_AWS_145: encrypted with AWS's key for S3, or with kms_key_arn if there is one
  count         = local.make_bucket ? 1 : 0
  bucket        = "${var.name}-${local.account}-${local.region}"
  force_destroy = var.bucket_force_destroy
  tags          = local.tags
}

resource "aws_s3_bucket_public_access_block" "this" {
  count                   = local.make_bucket ? 1 : 0
  bucket                  = aws_s3_bucket.this[0].id
  block_public_acls       = true
  block_public_policy     = true
  ignore_public_acls      = true
  restrict_public_buckets = true
}

resource "aws_s3_bucket_server_side_encryption_configuration" "this" {
  count  = local.make_bucket ? 1 : 0
  bucket = aws_s3_bucket.this[0].id

  rule {
    bucket_key_enabled = var.kms_key_arn != null

    apply_server_side_encryption_by_default {
      sse_algorithm     = var.kms_key_arn == null ? "AES256" : "aws:kms"
      kms_master_key_id = var.kms_key_arn
    }
  }
}

# A book that learns is overwritten; its versions are kept for a month.
resource "aws_s3_bucket_versioning" "this" {
  count  = local.make_bucket ? 1 : 0
  bucket = aws_s3_bucket.this[0].id

  versioning_configuration {
    status = "Enabled"
  }
}

resource "aws_s3_bucket_lifecycle_configuration" "this" {
  count      = local.make_bucket ? 1 : 0
  bucket     = aws_s3_bucket.this[0].id
  depends_on = [aws_s3_bucket_versioning.this]

  rule {
    id     = "old-versions"
    status = "Enabled"
    filter {}

    noncurrent_version_expiration {
      noncurrent_days = 30
    }
    abort_incomplete_multipart_upload {
      days_after_initiation = 1
    }
  }
}

resource "aws_s3_bucket_policy" "this" {
  count      = local.make_bucket ? 1 : 0
  bucket     = aws_s3_bucket.this[0].id
  depends_on = [aws_s3_bucket_public_access_block.this]

  policy = jsonencode({
    Version = "2012-10-17"
    Statement = [{
      Sid       = "OnlyTls"
      Effect    = "Deny"
      Principal = "*"
      Action    = "s3:*"
      Resource  = [local.bucket_arn, "${local.bucket_arn}/*"]
      Condition = { Bool = { "aws:SecureTransport" = "false" } }
    }]
  })
}

resource "aws_s3_object" "release" {
  # checkov:skip=CKV_AWS_186: encrypted with the bucket's key
  bucket = local.bucket
  key    = local.release_key
  source = var.release_file
  tags   = local.tags

  depends_on = [aws_s3_bucket_server_side_encryption_configuration.this]

  # With another release, machines that boot in the meantime still find theirs, until the group uses the new one.
  lifecycle {
    create_before_destroy = true
  }
}

resource "aws_s3_object" "config" {
  # checkov:skip=CKV_AWS_186: encrypted with the bucket's key
  bucket  = local.bucket
  key     = "${var.name}/config/gougi.toml"
  content = file(var.config_file)
  tags    = local.tags

  depends_on = [aws_s3_bucket_server_side_encryption_configuration.this]
}

# Facts about the workers that the master fetches at each start, and Ray's settings for their number.
resource "aws_s3_object" "master_env" {
  # checkov:skip=CKV_AWS_186: encrypted with the bucket's key
  bucket  = local.bucket
  key     = "${var.name}/config/master.env"
  content = "GOUGI_ENGINE_THREADS=${local.threads}\nGOUGI_ENGINE_HASH_MB=${local.hash_mb}\n${local.ray_health}"
  tags    = local.tags

  depends_on = [aws_s3_bucket_server_side_encryption_configuration.this]
}

# Terraform owns the parameter and removes it with the fleet; the head's first boot makes its value. `value_wo` is never in
# plan or state.
resource "aws_ssm_parameter" "ray_token" {
  # checkov:skip=CKV_AWS_337: encrypted with AWS's key for SSM, or with kms_key_arn if there is one
  name             = local.token_parameter
  description      = "The token of the fleet's Ray cluster"
  type             = "SecureString"
  key_id           = var.kms_key_arn
  value_wo         = "unset"
  value_wo_version = 1
  tags             = local.tags
}
