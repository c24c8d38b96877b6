variable "name" { type = string }

variable "nodes" { type = number }

variable "instance_types" { type = list(string) }

variable "csa_password_parameter" { type = string }

variable "release_file" { type = string }

variable "config_file" { type = string }

variable "csa_port" { default = 4081 }

variable "availability_zone" { default = null }
