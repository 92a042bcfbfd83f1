# Template: red_team_target_prod
# Domain: cybersecurity-ops
# Severity: critical
# Frameworks: SOC2, ISO-27001, NIST-CSF
# Tags: offensive-testing
# Tier: mixed
# Tool surface: port_scan, nmap_scan, exploit_run, password_spray, phishing_campaign
# Summary: Attacks for practice. They go to hosts of the exercise alone, under an engagement; what exploits one waits there too.
# Purpose: A scan or an exploit at a host that nobody offered is an outage, or a crime (Computer Fraud and Abuse Act; rules of engagement, NIST SP 800-115).
# Inputs: target, host, ip, url, engagement_id and their like, at any depth.
# Edit: scan_tools, attack_tools, target_fields, scope_domains, scope_networks, engagement_fields.

package gate.authz

import rego.v1

import data.gate.lib

red_team_target_prod_defaults := {
	"scan_tools": [
		"dirbuster", "gobuster", "masscan", "nessus_scan", "nikto", "nmap", "nuclei", "port_scan", "vulnerability_scan", "zap_scan",
	],
	"attack_tools": [
		"attack_run", "attack_simulate", "beacon_deploy", "brute_force", "exploit_execute", "exploit_launch", "exploit_run", "hydra",
		"metasploit", "msf", "password_crack", "password_spray", "payload_deliver", "payload_deploy", "phishing_campaign",
		"responder_run", "sqlmap",
	],
	"target_fields": [
		"address", "cidr", "domain", "host", "hostname", "ip", "ip_address", "rhost", "rhosts", "scope", "target", "target_host",
		"target_url", "url",
	],
	"scope_domains": ["invalid", "lab.internal", "localhost.localdomain", "range.internal", "test"],
	"scope_networks": ["127.0.0.0/8"],
	"engagement_fields": ["authorization_id", "engagement", "engagement_id", "roe_id", "rules_of_engagement", "statement_of_work"],
}

red_team_target_prod_settings := object.union(red_team_target_prod_defaults, given) if given := data.gate.red_team_target_prod

else := red_team_target_prod_defaults

watches contains "red_team_target_prod" if lib.tool_is(red_team_target_prod_settings.scan_tools)

watches contains "red_team_target_prod" if lib.tool_is(red_team_target_prod_settings.attack_tools)

watches contains "red_team_target_prod_attack" if lib.tool_is(red_team_target_prod_settings.attack_tools)

# METADATA
# title: Out of scope
deny contains "Violation: red_team_target_prod: the target (target, host, ip) is missing or not of scope_domains and scope_networks; test against a host of the exercise, or have its owner put it in scope." if {
	lib.watched.red_team_target_prod
	not red_team_target_prod_in_scope
}

# METADATA
# title: Without an engagement
deny contains "Violation: red_team_target_prod: an attack without an engagement (engagement_id); name the rules of engagement that its owner signed." if {
	lib.watched.red_team_target_prod_attack
	not lib.given(red_team_target_prod_settings.engagement_fields)
}

# METADATA
# title: An attack in scope
review contains "Review: red_team_target_prod: an attack on a host of the exercise under an engagement (engagement_id); approve it where the time and the way are agreed." if {
	lib.watched.red_team_target_prod_attack
	red_team_target_prod_in_scope
	lib.given(red_team_target_prod_settings.engagement_fields)
}

red_team_target_prod_in_scope if {
	targets := lib.values(red_team_target_prod_settings.target_fields)
	count(targets) > 0
	every target in targets {
		red_team_target_prod_ours(target)
	}
}

red_team_target_prod_ours(target) if {
	host := lib.host_of(target)
	not red_team_target_prod_is_address(host)
	some domain in red_team_target_prod_settings.scope_domains
	endswith(concat("", [".", host]), concat("", [".", lower(domain)]))
}

red_team_target_prod_ours(target) if {
	address := trim_space(target)
	red_team_target_prod_is_address(address)
	some network in red_team_target_prod_settings.scope_networks
	net.cidr_contains(network, address)
}

red_team_target_prod_is_address(text) if regex.match(`^[0-9]{1,3}(?:\.[0-9]{1,3}){3}(?:/[0-9]{1,2})?$`, text)
