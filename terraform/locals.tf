# Values derived from the variables.

data "aws_caller_identity" "current" {}
data "aws_partition" "current" {}
data "aws_region" "current" {}

data "aws_ec2_instance_type" "this" {
  for_each      = toset(concat(var.instance_types, [local.head_type]))
  instance_type = each.value
}

# The zones that offer every type; empty: none does.
data "aws_ec2_instance_type_offerings" "this" {
  for_each      = toset(concat(var.instance_types, [local.head_type]))
  location_type = "availability-zone"

  filter {
    name   = "instance-type"
    values = [each.value]
  }
}

locals {
  head_type = var.head_instance_type != null ? var.head_instance_type : var.nodes < 64 ? "c7i.xlarge" : "c7i.4xlarge"

  tags      = merge(var.tags, { gougi-fleet = var.name })
  partition = data.aws_partition.current.partition
  region    = data.aws_region.current.name
  account   = data.aws_caller_identity.current.account_id

  # Only the region's own zones: local zones (us-west-2-lax-1a) lack services that a fleet needs.
  offered = setintersection([for offer in data.aws_ec2_instance_type_offerings.this : toset(offer.locations)]...)
  zones   = sort([for zone in local.offered : zone if can(regex("^${local.region}[a-z]$", zone))])
  zone    = var.availability_zone != null ? var.availability_zone : try(local.zones[0], null)

  # A node's share of the smallest machine: its threads, and half of its memory for the table (MiB). The other half is for
  # networks, Python, Ray and the system.
  vcpus   = min([for type in var.instance_types : data.aws_ec2_instance_type.this[type].default_vcpus]...)
  memory  = min([for type in var.instance_types : data.aws_ec2_instance_type.this[type].memory_size]...)
  threads = max(1, floor(local.vcpus / var.searchers_per_machine))
  hash_mb = max(16, floor(local.memory / 2 / var.searchers_per_machine))

  foreign = sort([for type, facts in data.aws_ec2_instance_type.this : type if !contains(facts.supported_architectures, "x86_64")])

  on_demand_nodes = var.on_demand_nodes == null ? var.nodes : min(var.on_demand_nodes, var.nodes)
  # AWS rounds the on-demand share of the rest up.
  spot_nodes = var.on_demand_nodes == null ? 0 : floor((var.nodes - local.on_demand_nodes) * var.spot_percent / 100)

  # Ports inside the fleet, the same as in the scripts: deploy/scripts/ray.sh fixes Ray's, master.sh the report port. Nodes
  # that share their tables listen on any free port of the kernel's ephemeral range.
  fleet_ports = {
    ray-and-reports = { from = 6379, to = 6390 }
    ray-workers     = { from = 10002, to = 10999 }
    table-sharing   = { from = 32768, to = 60999 }
  }

  # Ray's head checks each machine's health, less often if there are many. Gougi's own heartbeats are faster in any case.
  ray_health = var.nodes < 64 ? "" : <<-EOT
    RAY_health_check_period_ms=1000
    RAY_health_check_timeout_ms=1500
    RAY_health_check_failure_threshold=4
  EOT

  token_parameter = "/gougi/${var.name}/ray-token"
}
