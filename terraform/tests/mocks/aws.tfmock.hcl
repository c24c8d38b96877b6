# The answers of the stand-in for AWS.

mock_data "aws_caller_identity" {
  defaults = { account_id = "123456789012" }
}
mock_data "aws_partition" {
  defaults = { partition = "aws" }
}
mock_data "aws_region" {
  defaults = { name = "us-east-1" }
}
mock_data "aws_ec2_instance_type" {
  defaults = { default_vcpus = 16, memory_size = 32768, supported_architectures = ["x86_64"] }
}
mock_data "aws_ec2_instance_type_offerings" {
  defaults = { locations = ["us-east-1b", "us-east-1a"] }
}
mock_data "aws_ssm_parameter" {
  defaults = { value = "ami-0123456789abcdef0" }
}
mock_resource "aws_launch_template" {
  defaults = { id = "lt-0123456789abcdef0", latest_version = 1 }
}
mock_resource "aws_vpc_endpoint" {
  defaults = { prefix_list_id = "pl-12345678" }
}
