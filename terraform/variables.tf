# The choices of a fleet's owner. `gougi fleet` itself changes only `nodes`.

# --- The fleet -----------------------------------------------------------------------------------------------------------

variable "name" {
  description = "Name of the fleet. It is part of the names of all its parts, and the value of their tag `gougi-fleet`. Two fleets of one account need two names."
  type        = string
  default     = "gougi"

  validation {
    condition     = can(regex("^[a-z][a-z0-9-]{0,30}[a-z0-9]$", var.name))
    error_message = "name: expected 2 to 32 of a-z, 0-9 and '-', beginning with a letter and not ending with '-', such as \"gougi\"."
  }
}

variable "nodes" {
  description = "Number of worker machines, which search. 0 keeps only the head."
  type        = number
  default     = 1

  validation {
    condition     = var.nodes >= 0 && var.nodes <= 1000 && floor(var.nodes) == var.nodes
    error_message = "nodes: expected a whole number from 0 to 1000."
  }
}

variable "instance_types" {
  description = "Types of the workers, the preferred one first. Several give more spot capacity. Choose types of about the same speed: the smallest sets the threads and the table of all nodes."
  type        = list(string)
  default     = ["c7i.4xlarge", "c6i.4xlarge"]

  validation {
    condition     = length(var.instance_types) >= 1 && length(var.instance_types) <= 20 && length(distinct(var.instance_types)) == length(var.instance_types)
    error_message = "instance_types: expected 1 to 20 different instance types."
  }
  validation {
    condition     = alltrue([for type in var.instance_types : can(regex("^[a-z0-9-]+\\.[a-z0-9-]+$", type))])
    error_message = "instance_types: expected names such as \"c7i.4xlarge\"."
  }
}

variable "head_instance_type" {
  description = "Type of the head: the master (clock, connection, coordinator, the fallback searcher) and Ray's head. It takes no part in the search. null: c7i.xlarge, and from 64 nodes on c7i.4xlarge."
  type        = string
  default     = null

  validation {
    condition     = var.head_instance_type == null || can(regex("^[a-z0-9-]+\\.[a-z0-9-]+$", var.head_instance_type))
    error_message = "head_instance_type: expected a name such as \"c7i.xlarge\", or null."
  }
}

variable "searchers_per_machine" {
  description = "Number of node processes on each worker machine, which share its threads and memory evenly."
  type        = number
  default     = 1

  validation {
    condition     = var.searchers_per_machine >= 1 && var.searchers_per_machine <= 64 && floor(var.searchers_per_machine) == var.searchers_per_machine
    error_message = "searchers_per_machine: expected a whole number from 1 to 64."
  }
}

# --- Limits of the cost --------------------------------------------------------------------------------------------------

variable "on_demand_nodes" {
  description = "Number of workers that are on-demand, before any is spot. null: all."
  type        = number
  default     = null

  validation {
    condition     = var.on_demand_nodes == null || try(var.on_demand_nodes >= 0 && floor(var.on_demand_nodes) == var.on_demand_nodes, false)
    error_message = "on_demand_nodes: expected a whole number from 0, or null for no spot at all."
  }
}

variable "spot_percent" {
  description = "Percentage of spot machines among the workers beyond on_demand_nodes."
  type        = number
  default     = 100

  validation {
    condition     = var.spot_percent >= 0 && var.spot_percent <= 100 && floor(var.spot_percent) == var.spot_percent
    error_message = "spot_percent: expected a whole number from 0 to 100."
  }
}

variable "spot_max_usd_per_hour" {
  description = "The highest price of an hour of one spot worker, in US dollars. null: its on-demand price."
  type        = number
  default     = null

  validation {
    condition     = var.spot_max_usd_per_hour == null || try(var.spot_max_usd_per_hour > 0, false)
    error_message = "spot_max_usd_per_hour: expected more than 0, or null for the on-demand price."
  }
}

variable "usd_per_hour" {
  description = "On-demand prices by instance type, in US dollars an hour, which replace those in prices.json (it names its source and date). Set them if yours differ or a type is missing."
  type        = map(number)
  default     = {}

  validation {
    condition     = alltrue([for price in values(var.usd_per_hour) : price > 0])
    error_message = "usd_per_hour: expected prices above 0."
  }
}

variable "auto_stop_hours" {
  description = "Hours after which the fleet ends by itself, from the apply that started or restarted the clock: no workers, the head stopped. AWS's own scheduler ends the workers, even if the head is dead."
  type        = number
  default     = 12

  validation {
    condition     = var.auto_stop_hours >= 1 && var.auto_stop_hours <= 24 * 30
    error_message = "auto_stop_hours: expected 1 to 720."
  }
}

variable "price_cap_usd" {
  description = "The highest cost of one run, in US dollars, counted anew after each change of the number of nodes. auto_stop_hours is shortened so that the fleet at its present size and at on-demand prices cannot exceed it. null: only the hours limit it. Disks, addresses and traffic are not counted."
  type        = number
  default     = null

  validation {
    condition     = var.price_cap_usd == null || try(var.price_cap_usd > 0, false)
    error_message = "price_cap_usd: expected more than 0, or null for no cap."
  }
}

variable "budget" {
  description = "AWS Budgets mails `email` when the fleet's cost of the month exceeds 80 % of usd, and when the forecast exceeds usd. It counts by the fleet's tag, which must be activated as a cost allocation tag. null: no budget."
  type        = object({ usd = number, email = string })
  default     = null

  validation {
    condition     = var.budget == null || try(var.budget.usd > 0 && can(regex("^[^@ ]+@[^@ ]+$", var.budget.email)), false)
    error_message = "budget: expected { usd = more than 0, email = \"you@example.org\" }, or null."
  }
}

# --- Software ------------------------------------------------------------------------------------------------------------

variable "release_file" {
  description = "The release that the machines install, made by deploy/scripts/bundle.sh. Its hash is in its key, so a new release replaces the workers one after another."
  type        = string

  validation {
    condition     = fileexists(var.release_file)
    error_message = "release_file: there is no such file; deploy/scripts/bundle.sh makes one."
  }
}

variable "config_file" {
  description = "The gougi.toml of the master. It contains no secret (gougi refuses one there). The fleet sets number of nodes, address, ports, threads and table."
  type        = string

  validation {
    condition     = fileexists(var.config_file)
    error_message = "config_file: there is no such file; deploy/gougi.toml is one to begin with."
  }
}

variable "csa_password_parameter" {
  description = "Name of an existing SecureString in SSM Parameter Store with the password of the tournament server. Empty: the head plays on no server."
  type        = string
  default     = ""

  validation {
    condition     = var.csa_password_parameter == "" || can(regex("^/[A-Za-z0-9_./-]+$", var.csa_password_parameter))
    error_message = "csa_password_parameter: expected the name of a parameter, such as \"/gougi/floodgate\" (not the password itself)."
  }
}

variable "csa_port" {
  description = "The tournament server's port, to which the head may connect."
  type        = number
  default     = 4081

  validation {
    condition     = var.csa_port >= 1 && var.csa_port <= 65535
    error_message = "csa_port: expected 1 to 65535."
  }
}

variable "image" {
  description = "The machines' image: the id of an AMI, or an SSM parameter that names one. Amazon Linux 2023 on x86-64: its packages come through the S3 endpoint, so workers need no Internet access."
  type        = string
  default     = "/aws/service/ami-amazon-linux-latest/al2023-ami-kernel-default-x86_64"

  validation {
    condition     = can(regex("^(ami-[0-9a-f]+|/[A-Za-z0-9_./-]+)$", var.image))
    error_message = "image: expected \"ami-…\" or the name of an SSM parameter, such as \"/aws/service/…\"."
  }
}

variable "root_volume_gb" {
  description = "Size of each machine's encrypted root volume (gp3), in GB."
  type        = number
  default     = 16

  validation {
    condition     = var.root_volume_gb >= 10 && var.root_volume_gb <= 1000
    error_message = "root_volume_gb: expected 10 to 1000."
  }
}

# --- Location ------------------------------------------------------------------------------------------------------------

variable "availability_zone" {
  description = "The one zone of all machines, such as \"ap-northeast-1a\": traffic between zones costs money and time. null: the first that offers all the types."
  type        = string
  default     = null
}

variable "placement_group" {
  description = "Whether the workers are in a cluster placement group: microseconds less latency, but less capacity."
  type        = bool
  default     = false
}

variable "vpc_cidr" {
  description = "Address block of the VPC."
  type        = string
  default     = "10.81.0.0/16"

  validation {
    condition     = can(cidrnetmask(var.vpc_cidr)) && try(tonumber(split("/", var.vpc_cidr)[1]) <= 20, false)
    error_message = "vpc_cidr: expected an IPv4 block of /20 or larger, such as \"10.81.0.0/16\"."
  }
}

variable "network" {
  description = "An existing network, instead of a new one. The head's subnet must reach the tournament server, S3 and SSM, the workers' S3 and SSM."
  type = object({
    vpc_id           = string
    head_subnet_id   = string
    worker_subnet_id = string
  })
  default = null
}

# --- Who gets in ---------------------------------------------------------------------------------------------------------

variable "ssh" {
  description = "SSH to the head from these blocks with an EC2 key pair. null, the default: nobody; SSM Session Manager needs no open port."
  type        = object({ key_name = string, cidrs = list(string) })
  default     = null

  validation {
    condition = var.ssh == null || try(
      length(var.ssh.cidrs) > 0 && alltrue([for cidr in var.ssh.cidrs : can(cidrnetmask(cidr)) && tonumber(split("/", cidr)[1]) >= 16]), false
    )
    error_message = "ssh: expected { key_name, cidrs } with IPv4 blocks of /16 or smaller, such as \"203.0.113.7/32\"; SSH is not opened to the world."
  }
}

variable "kms_key_arn" {
  description = "Your own KMS key for disks, bucket and token. null: AWS's keys for these services, which cost nothing."
  type        = string
  default     = null

  validation {
    condition     = var.kms_key_arn == null || can(regex("^arn:aws[a-z-]*:kms:", var.kms_key_arn))
    error_message = "kms_key_arn: expected an ARN, arn:aws:kms:…, or null."
  }
}

# --- Storage -------------------------------------------------------------------------------------------------------------

variable "bucket" {
  description = "An existing bucket for releases, books, networks, records and logs. It stays when the fleet is removed. Several fleets may share it; each uses the folder with its name. null: a new one, which is removed with the fleet."
  type        = string
  default     = null
}

variable "bucket_force_destroy" {
  description = "Whether `destroy` may remove the fleet's own bucket with its content. Apply it before you destroy. Without it a bucket with records stops the destroy."
  type        = bool
  default     = false
}

variable "tags" {
  description = "Tags of all resources, in addition to `gougi-fleet`."
  type        = map(string)
  default     = {}

  validation {
    condition     = !contains(keys(var.tags), "gougi-fleet")
    error_message = "tags: \"gougi-fleet\" is set from name."
  }
}
