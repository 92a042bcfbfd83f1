# Template: shipment_routing
# Domain: logistics
# Severity: high
# Frameworks: C-TPAT, EAR, DOT-HMR
# Tags: cargo-theft, routing
# Tier: mixed
# Tool surface: reroute_shipment, change_delivery_address, change_consignee, redirect_package, release_container
# Summary: Where a shipment goes. A new address or consignee that the shipper did not authorise is refused, as is an embargoed one; what was authorised waits.
# Purpose: Strategic cargo theft is one changed address: a fictitious carrier and a dock that believed a mail. Diverting controlled goods breaks the licence (15 CFR 758.6).
# Inputs: shipper_authorization, release_number, callback_reference; destination_country, address; hazmat, un_number; at any depth.
# Edit: tools, authorization_fields, destination_fields, embargoed, embargoed_codes, guarded_fields.

package gate.authz

import rego.v1

import data.gate.lib

shipment_routing_defaults := {
	"tools": [
		"cargo_divert", "cargo_release", "carrier_reassign", "consignee_change", "consignee_update", "container_release",
		"delivery_address_change", "delivery_address_update", "delivery_redirect", "destination_change", "package_intercept",
		"package_redirect", "package_reroute", "pickup_number_issue", "shipment_address_update", "shipment_divert", "shipment_redirect",
		"shipment_release", "shipment_reroute", "shipping_address_change",
	],
	"authorization_fields": [
		"authorization_id", "call_back_reference", "callback_reference", "release_number", "release_order", "shipper_approval",
		"shipper_authorization", "shipper_confirmation",
	],
	"destination_fields": [
		"address", "consignee", "consignee_country", "country", "country_code", "destination", "destination_country", "new_address",
		"new_destination", "route", "to_country", "transit_country", "via",
	],
	"embargoed": ["belarus", "crimea", "cuba", "donetsk", "iran", "luhansk", "north_korea", "russia", "syria"],
	"embargoed_codes": ["BLR", "BY", "CU", "CUB", "IR", "IRN", "KP", "PRK", "RU", "RUS", "SY", "SYR"],
	"guarded_fields": ["controlled", "dangerous_goods", "eccn", "hazard_class", "hazmat", "itar", "un_number"],
}

shipment_routing_settings := object.union(shipment_routing_defaults, given) if given := data.gate.shipment_routing

else := shipment_routing_defaults

watches contains "shipment_routing" if lib.tool_changes(shipment_routing_settings.tools)

# METADATA
# title: Embargoed
deny contains "Violation: shipment_routing: the destination or a stop (destination_country, via) is embargoed; keep the route, and ask trade compliance." if {
	lib.watched.shipment_routing
	shipment_routing_embargoed
}

# METADATA
# title: Not authorised
deny contains "Violation: shipment_routing: the shipper did not authorise it (shipper_authorization, callback_reference); call the shipper at the number on file, not the one in the message." if {
	lib.watched.shipment_routing
	not lib.given(shipment_routing_settings.authorization_fields)
}

# METADATA
# title: Dangerous or controlled
review contains "Review: shipment_routing: the goods are dangerous or controlled (un_number, eccn); approve it where route, papers and licence cover the new way." if {
	lib.watched.shipment_routing
	lib.switched_on(shipment_routing_settings.guarded_fields)
}

# METADATA
# title: Authorised
review contains "Review: shipment_routing: cargo goes elsewhere on the shipper's word (shipper_authorization); approve it where the call-back is on record." if {
	lib.watched.shipment_routing
	lib.given(shipment_routing_settings.authorization_fields)
}

shipment_routing_embargoed if lib.mentions(shipment_routing_settings.destination_fields, shipment_routing_settings.embargoed)

shipment_routing_embargoed if {
	some value in lib.values(shipment_routing_settings.destination_fields)
	is_string(value)
	upper(trim_space(value)) in shipment_routing_settings.embargoed_codes
}
