# Template: trade_execution
# Domain: capital-markets
# Severity: critical
# Frameworks: SEC, FINRA, MiFID-II
# Tags: orders, market-access
# Tier: mixed
# Tool surface: place_order, place_stock_order, submit_order, execute_trade, replace_order
# Summary: Orders. One without a limit price, on a restricted instrument, or larger than the limits is refused, and so is one outside the session; the others wait.
# Purpose: SEC rule 15c3-5 wants hard limits before an order leaves; Knight Capital lost 460 million dollars in 45 minutes without them.
# Inputs: symbol, isin; quantity, notional, limit_price; current_time; at any depth.
# Edit: tools, instrument_fields, restricted, quantity_fields, most_quantity, notional_fields, most_notional, price_fields, session.

package gate.authz

import rego.v1

import data.gate.lib

trade_execution_defaults := {
	"tools": [
		"bracket_order", "crypto_order", "equity_order", "future_order", "limit_order", "market_order", "option_order", "order_amend",
		"order_create", "order_modify", "order_place", "order_replace", "order_route", "order_send", "order_submit", "position_open",
		"stock_buy", "stock_order", "stock_sell", "trade_execute", "trade_place", "trade_submit",
	],
	"instrument_fields": [
		"asset_id", "contract", "cusip", "figi", "instrument", "instrument_id", "isin", "option_symbol", "ric", "security_id", "symbol",
		"ticker",
	],
	"restricted": ["ZVZZT", "ZWZZT", "ZXZZT", "NTEST"],
	"quantity_fields": ["contracts", "order_qty", "qty", "quantity", "share", "size"],
	"most_quantity": 1000,
	"notional_fields": ["notional", "notional_value", "order_value"],
	"most_notional": 50000,
	"price_fields": ["limit", "limit_price", "price"],
	"session": {
		"weekdays": ["Monday", "Tuesday", "Wednesday", "Thursday", "Friday"],
		"from_hour": 8,
		"to_hour": 21,
		"utc_offset_minutes": 0,
	},
}

trade_execution_settings := object.union(trade_execution_defaults, given) if given := data.gate.trade_execution

else := trade_execution_defaults

watches contains "trade_execution" if lib.tool_changes(trade_execution_settings.tools)

# METADATA
# title: Restricted
deny contains "Violation: trade_execution: the instrument (symbol, isin) is on the restricted list; the control room clears it or nobody trades it." if {
	trade_execution_order
	some value in lib.values(trade_execution_settings.instrument_fields)
	some one in trade_execution_settings.restricted
	lib.plain(lib.as_text(value)) == lib.plain(one)
}

# METADATA
# title: No limit of price
deny contains "Violation: trade_execution: no limit price (limit_price); a market order pays any price, send a limit order." if {
	trade_execution_order
	not trade_execution_priced
}

# METADATA
# title: Too large
deny contains "Violation: trade_execution: the size (quantity, notional) is above most_quantity or most_notional, or no plain number; split it by the desk's algorithm, or have the limit raised." if {
	trade_execution_order
	not trade_execution_small
}

# METADATA
# title: No session
deny contains "Violation: trade_execution: current_time is outside the session; queue the order for the next one." if {
	trade_execution_order
	not lib.between(trade_execution_settings.session)
}

# METADATA
# title: An order
review contains "Review: trade_execution: an order within the limits; approve it against the mandate of the account." if {
	trade_execution_order
}

trade_execution_order if {
	lib.watched.trade_execution
	lib.given(trade_execution_settings.instrument_fields)
}

trade_execution_priced if {
	some value in lib.values(trade_execution_settings.price_fields)
	lib.number_in(value) > 0
}

trade_execution_small if {
	count(lib.values(trade_execution_settings.quantity_fields) | lib.values(trade_execution_settings.notional_fields)) > 0
	not trade_execution_beyond(trade_execution_settings.quantity_fields, trade_execution_settings.most_quantity)
	not trade_execution_beyond(trade_execution_settings.notional_fields, trade_execution_settings.most_notional)
}

trade_execution_beyond(names, limit) if {
	count(lib.values(names)) > 0
	not lib.at_most(names, limit)
}
