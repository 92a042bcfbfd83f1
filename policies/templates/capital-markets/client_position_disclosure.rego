# Template: client_position_disclosure
# Domain: capital-markets
# Severity: critical
# Frameworks: SEC, FINRA, MAR, MiFID-II
# Tags: confidentiality
# Tier: mixed
# Tool surface: send_email, post_message, share_file, export_positions, create_share_link
# Summary: Positions of clients. They go to no outsider; what they hold and trade stays in, or goes to the recipients that are listed.
# Purpose: Who knows a large client's book can trade ahead of it; Regulation S-P and MAR article 10 treat it as what it is, inside information.
# Inputs: positions, holdings, portfolio and their like, and texts about them; to, url, channel.
# Edit: send_tools, export_tools, harmless_tools, position_fields, unclear_fields, instrument_fields, phrases, text_fields, recipient_fields, internal_domains.

package gate.authz

import rego.v1

import data.gate.lib

client_position_disclosure_defaults := {
	"send_tools": [
		"email_forward", "email_reply", "email_send", "file_share", "file_upload", "gist_create", "http_post", "link_share", "mail_send",
		"message_post", "message_send", "paste_create", "share_link", "slack_post", "slack_send", "webhook_send",
	],
	"export_tools": [
		"blotter_export", "holding_export", "holding_send", "holding_share", "order_book_export", "portfolio_export", "portfolio_send",
		"portfolio_share", "position_export", "position_publish", "position_send", "position_share", "trade_blotter_share",
	],
	"harmless_tools": ["geo", "job", "gps", "robot"],
	"position_fields": [
		"blotter", "client_holding", "client_portfolio", "client_position", "holding", "order_book", "portfolio_holding", "portfolio_position",
		"short_interest", "trade_blotter",
	],
	"unclear_fields": ["exposure", "position", "weight"],
	"instrument_fields": ["cusip", "figi", "isin", "symbol", "ticker"],
	"phrases": ["client_holding", "client_order_pending", "client_portfolio", "client_position", "fund_holding_undisclosed"],
	"text_fields": ["attachment", "body", "content", "filename", "html", "message", "subject", "text", "title"],
	"recipient_fields": ["bcc", "cc", "channel", "destination", "email", "endpoint", "host", "recipient", "to", "uri", "url"],
	"internal_domains": [],
}

client_position_disclosure_settings := object.union(client_position_disclosure_defaults, given) if given := data.gate.client_position_disclosure

else := client_position_disclosure_defaults

watches contains "client_position_disclosure_send" if lib.tool_changes(client_position_disclosure_settings.send_tools)

watches contains "client_position_disclosure_export" if {
	lib.tool_changes(client_position_disclosure_settings.export_tools)
	not lib.tool_is(client_position_disclosure_settings.harmless_tools)
}

# METADATA
# title: Data of the book
deny contains "Violation: client_position_disclosure: positions or holdings (positions, holdings, blotter) leave for a recipient (to, url) that is not of internal_domains; use the client portal." if {
	lib.watched.client_position_disclosure_send
	client_position_disclosure_holds
	not client_position_disclosure_inside
}

# METADATA
# title: The book itself
deny contains "Violation: client_position_disclosure: the tool hands out positions to a recipient (to, url) that is none of internal_domains; name one that is listed, or use the client portal." if {
	lib.watched.client_position_disclosure_export
	not client_position_disclosure_inside
}

# METADATA
# title: A text about the book
review contains "Review: client_position_disclosure: a text (subject, body, attachment) speaks of a client's positions and leaves; approve it where the recipient is that client." if {
	lib.watched.client_position_disclosure_send
	lib.mentions(client_position_disclosure_settings.text_fields, client_position_disclosure_settings.phrases)
	not client_position_disclosure_inside
}

client_position_disclosure_holds if lib.given(client_position_disclosure_settings.position_fields)

client_position_disclosure_holds if {
	lib.given(client_position_disclosure_settings.unclear_fields)
	lib.given(client_position_disclosure_settings.instrument_fields)
}

client_position_disclosure_inside if lib.inside(client_position_disclosure_settings.recipient_fields, client_position_disclosure_settings.internal_domains)
