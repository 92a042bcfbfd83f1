# Template: price_changes
# Domain: ecommerce
# Severity: high
# Frameworks: consumer, FTC, EU-Omnibus
# Tags: pricing, catalogue
# Tier: mixed
# Tool surface: update_price, bulk_update_prices, create_discount, update_product, set_sale_price
# Summary: Prices. Free or below the floor, and discounts beyond the limit are refused; many prices at once and large steps wait.
# Purpose: A shop that priced everything at a penny had to deliver; the EU's Omnibus directive wants the lowest price of thirty days beside each discount.
# Inputs: price, old_price; percent_off; items, filter; at any depth.
# Edit: price_tools, product_tools, discount_tools, bulk_words, price_fields, lowest, old_fields, largest_drop, percent_fields, most_percent, many_fields.

package gate.authz

import rego.v1

import data.gate.lib

price_changes_defaults := {
	"price_tools": [
		"price_change", "price_list_update", "price_override", "price_set", "price_update", "pricing_update", "product_price", "sale_price_set",
		"variant_price",
	],
	"product_tools": [
		"listing_update", "product_create", "product_edit", "product_set", "product_update", "product_variant_update", "sku_update",
		"variant_update",
	],
	"discount_tools": [
		"coupon_create", "coupon_update", "discount_apply", "discount_code", "discount_create", "discount_update", "price_rule_create",
		"promo_code_create", "promotion_create", "promotion_update", "voucher_create",
	],
	"bulk_words": ["all", "batch", "bulk", "mass"],
	"price_fields": ["list_price", "new_price", "price", "price_amount", "sale_price", "unit_price"],
	"lowest": 1,
	"old_fields": ["compare_at_price", "current_price", "old_price", "original_price", "previous_price"],
	"largest_drop": 70,
	"percent_fields": ["discount_percent", "discount_percentage", "percent", "percent_off", "percentage", "percentage_off"],
	"most_percent": 50,
	"many_fields": ["all_products", "collection_id", "filter", "store_wide"],
}

price_changes_settings := object.union(price_changes_defaults, given) if given := data.gate.price_changes

else := price_changes_defaults

watches contains "price_changes_price" if lib.tool_changes(price_changes_settings.price_tools)

watches contains "price_changes_product" if lib.tool_changes(price_changes_settings.product_tools)

watches contains "price_changes_discount" if lib.tool_changes(price_changes_settings.discount_tools)

watches contains "price_changes_bulk" if lib.tool_is(price_changes_settings.bulk_words)

# METADATA
# title: Nearly free
deny contains "Violation: price_changes: the new price (price, sale_price) is below lowest, or no plain number; check unit and decimals." if {
	price_changes_prices
	not lib.at_least(price_changes_settings.price_fields, price_changes_settings.lowest)
}

# METADATA
# title: A large discount
deny contains "Violation: price_changes: the discount (percent_off) is above most_percent, or no plain number; marketing sets up such a campaign itself." if {
	lib.watched.price_changes_discount
	count(lib.values(price_changes_settings.percent_fields)) > 0
	not lib.at_most(price_changes_settings.percent_fields, price_changes_settings.most_percent)
}

# METADATA
# title: Many prices
review contains "Review: price_changes: many prices change at once (bulk, filter, collection_id); approve it after a look at a sample." if {
	price_changes_prices
	price_changes_many
}

# METADATA
# title: A large step
review contains "Review: price_changes: the new price (price) is far below the old one (old_price); approve it where that is meant." if {
	price_changes_prices
	some old in lib.values(price_changes_settings.old_fields)
	lib.number_in(old) > 0
	not lib.at_least(price_changes_settings.price_fields, (lib.number_in(old) * price_changes_settings.largest_drop) / 100)
}

price_changes_prices if lib.watched.price_changes_price

price_changes_prices if {
	lib.watched.price_changes_product
	count(lib.values(price_changes_settings.price_fields)) > 0
}

price_changes_many if lib.watched.price_changes_bulk

price_changes_many if lib.switched_on(price_changes_settings.many_fields)
