# Two on-demand workers and six on spot, of several types with the same number of threads. A spot worker that AWS takes away
# drains first, and the group starts another of the type with the most capacity.

terraform {
  required_version = ">= 1.11"

  required_providers {
    aws = {
      source  = "hashicorp/aws"
      version = "~> 5.0"
    }
  }

  # The state is in this folder. For more than one person or machine: docs/reference/aws.md, "The state".
}

provider "aws" {
  region = var.region
}

variable "region" {
  description = "Where the fleet is. Tokyo is next to floodgate."
  type        = string
  default     = "ap-northeast-1"
}

variable "nodes" {
  description = "How many workers."
  type        = number
  default     = 8
}

variable "release_file" {
  description = "What deploy/scripts/bundle.sh made."
  type        = string
}

variable "config_file" {
  description = "The master's gougi.toml."
  type        = string
  default     = "../../../deploy/gougi.toml"
}

variable "csa_password_parameter" {
  description = "Name of the SecureString with the tournament server's password. Empty: it plays on no server."
  type        = string
  default     = ""
}

variable "bucket_force_destroy" {
  description = "Whether `down` may remove the bucket with the records that are in it."
  type        = bool
  default     = false
}

module "fleet" {
  source = "../.."

  name                   = "gougi-spot"
  nodes                  = var.nodes
  instance_types         = ["c7i.4xlarge", "c7a.4xlarge", "c6i.4xlarge", "m7i.4xlarge"]
  on_demand_nodes        = 2
  spot_percent           = 100
  spot_max_usd_per_hour  = 0.5
  placement_group        = false # a placement group has less spot capacity
  release_file           = var.release_file
  config_file            = var.config_file
  csa_password_parameter = var.csa_password_parameter
  bucket_force_destroy   = var.bucket_force_destroy
  auto_stop_hours        = 12
}

output "fleet" {
  description = "All that there is to know of the fleet."
  value       = module.fleet
}
