# An image of AWS with a release installed and the searcher compiled, for machines that search sooner after their start.
# See docs/how-to/aws.md.
#
#   packer init deploy/image.pkr.hcl
#   packer build -var release=RELEASE.tar deploy/image.pkr.hcl

packer {
  required_plugins {
    amazon = {
      source  = "github.com/hashicorp/amazon"
      version = "~> 1.2"
    }
  }
}

variable "release" {
  type        = string
  description = "The fleet's release. A machine that is to install another one installs it over the image's."
}

variable "region" {
  type        = string
  default     = null
  description = "null: AWS_REGION."
}

variable "instance_type" {
  type        = string
  default     = "c7i.xlarge"
  description = "Of the workers' family: the searcher is compiled for its CPU."
}

locals {
  name = "gougi-${trimsuffix(basename(var.release), ".tar")}"
}

source "amazon-ebs" "gougi" {
  region        = var.region
  instance_type = var.instance_type
  ami_name      = local.name
  ssh_username  = "ec2-user"
  encrypt_boot  = true

  source_ami_filter {
    owners      = ["amazon"]
    most_recent = true
    filters = {
      name = "al2023-ami-2023.*-x86_64"
    }
  }

  tags = {
    Name = local.name
  }
}

build {
  sources = ["source.amazon-ebs.gougi"]

  provisioner "file" {
    source      = var.release
    destination = "/tmp/release.tar"
  }

  provisioner "shell" {
    script          = "${path.root}/scripts/image.sh"
    execute_command = "sudo bash {{ .Path }} /tmp/release.tar"
  }

  # Each machine that starts from the image is a new one to cloud-init.
  provisioner "shell" {
    inline = ["rm /tmp/release.tar", "sudo cloud-init clean --logs --machine-id"]
  }
}
