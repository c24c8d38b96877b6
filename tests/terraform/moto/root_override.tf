# moto instead of AWS: one address for all; buckets by path, for there is no name for each.
provider "aws" {
  s3_use_path_style = true
  max_retries       = 1
}
