# The cost of an hour, and the fleet's automatic end.

locals {
  prices = jsondecode(file("${path.module}/prices.json"))

  # Within a family each vCPU costs the same. null: the table has no price for this family or region.
  price = {
    for type, facts in data.aws_ec2_instance_type.this : type => try(
      var.usd_per_hour[type], local.prices.per_vcpu[split(".", type)[0]][local.region] * facts.default_vcpus, null
    )
  }
  node_prices    = [for type in var.instance_types : local.price[type]]
  node_price     = contains([for price in local.node_prices : price == null], true) ? null : max(local.node_prices...)
  unpriced       = sort([for type, price in local.price : type if price == null])
  endpoint_price = try(var.usd_per_hour["endpoint"], local.prices.interface_endpoint[local.region], null)
  beside         = local.prices.public_ipv4 + (local.endpoint_price == null ? 0 : local.endpoint_price * length(aws_vpc_endpoint.interface))

  usd_per_hour = {
    head   = local.price[local.head_type]
    node   = local.node_price
    beside = local.beside
    all    = try(local.price[local.head_type] + local.node_price * var.nodes + local.beside, null)
  }

  capped_hours     = var.price_cap_usd == null ? null : try(floor(var.price_cap_usd / local.usd_per_hour.all * 60) / 60, null)
  stop_after_hours = var.price_cap_usd == null ? var.auto_stop_hours : try(min(var.auto_stop_hours, local.capped_hours), var.auto_stop_hours)
  stop_at          = timeadd(plantimestamp(), "${floor(local.stop_after_hours * 60)}m")
}

# The clock starts when this is made or replaced: with the fleet, with other hours, with another price cap and, if there is
# a cap, with another size.
resource "terraform_data" "clock" {
  triggers_replace = local.stop_after_hours

  lifecycle {
    precondition {
      condition     = var.price_cap_usd == null || local.usd_per_hour.all != null
      error_message = "price_cap_usd: the price of ${join(", ", local.unpriced)} in ${local.region} is not known; give it in usd_per_hour."
    }
    precondition {
      condition     = local.stop_after_hours >= 0.25
      error_message = "price_cap_usd: it would end the fleet after less than a quarter of an hour; an hour costs ${coalesce(local.usd_per_hour.all, 0)} US dollars."
    }
  }
}

# AWS removes an action that it has carried out, and the next apply makes it again. The head looks for the action and shuts
# itself down if there is none. If it ends the fleet for another reason, it removes the action (deploy/scripts/end-fleet.sh).
resource "aws_autoscaling_schedule" "stop" {
  scheduled_action_name  = "stop"
  autoscaling_group_name = aws_autoscaling_group.workers.name
  start_time             = local.stop_at
  min_size               = 0
  max_size               = -1 # unchanged
  desired_capacity       = 0

  lifecycle {
    ignore_changes       = [start_time]
    replace_triggered_by = [terraform_data.clock]
  }
}

resource "aws_budgets_budget" "month" {
  count        = var.budget == null ? 0 : 1
  name         = "${var.name}-month"
  budget_type  = "COST"
  limit_amount = tostring(var.budget.usd)
  limit_unit   = "USD"
  time_unit    = "MONTHLY"
  tags         = local.tags

  cost_filter {
    name   = "TagKeyValue"
    values = [format("user:gougi-fleet$%s", var.name)] # "$$" before a brace would be an escape
  }

  dynamic "notification" {
    for_each = { ACTUAL = 80, FORECASTED = 100 }
    content {
      comparison_operator        = "GREATER_THAN"
      threshold                  = notification.value
      threshold_type             = "PERCENTAGE"
      notification_type          = notification.key
      subscriber_email_addresses = [var.budget.email]
    }
  }
}
