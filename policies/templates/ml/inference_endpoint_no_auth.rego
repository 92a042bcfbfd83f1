# Template: inference_endpoint_no_auth
# Domain: ml
# Severity: critical
# Frameworks: NIST-AI-RMF, SOC2
# Tags: inference, exposure
# Tier: mixed
# Tool surface: create_inference_endpoint, update_inference_endpoint, deploy_model_endpoint, expose_model
# Summary: Endpoints of models. One without authentication is refused; one that does not say how it authenticates waits.
# Purpose: Open inference servers are found by scanners in hours: their bill is yours, and so is the model (ShadowRay, 2024).
# Inputs: auth, auth_mode, allow_unauthenticated, public, network and their like, at any depth.
# Edit: tools, auth_fields, known, open_fields, required_fields, open_values.

package gate.authz

import rego.v1

import data.gate.lib

inference_endpoint_no_auth_defaults := {
	"tools": [
		"endpoint_deploy", "inference_endpoint", "inference_service", "model_endpoint", "model_expose", "model_serve",
		"prediction_endpoint", "serving_endpoint",
	],
	"auth_fields": ["auth", "auth_mode", "auth_type", "authentication", "authorization_type", "endpoint_type", "security"],
	"known": [
		"aad_token", "aml_token", "api_key", "aws_iam", "bearer", "iam", "jwt", "key", "mtls", "oauth", "oauth2", "oidc", "private",
		"protected", "token",
	],
	"open_fields": ["allow_anonymous", "allow_unauthenticated", "anonymous", "disable_auth", "no_auth", "skip_auth"],
	"required_fields": ["auth_enabled", "authentication_required", "enable_auth", "require_auth"],
	"open_values": ["allow_unauthenticated", "anonymous", "disabled", "none", "off", "public", "unauthenticated"],
}

inference_endpoint_no_auth_settings := object.union(inference_endpoint_no_auth_defaults, given) if given := data.gate.inference_endpoint_no_auth

else := inference_endpoint_no_auth_defaults

watches contains "inference_endpoint_no_auth" if lib.tool_changes(inference_endpoint_no_auth_settings.tools)

# METADATA
# title: Open
deny contains "Violation: inference_endpoint_no_auth: an endpoint of a model without authentication (auth, allow_unauthenticated); choose a key, IAM or mTLS." if {
	lib.watched.inference_endpoint_no_auth
	inference_endpoint_no_auth_open
}

# METADATA
# title: Not said
review contains "Review: inference_endpoint_no_auth: an endpoint of a model that does not say how it authenticates (auth); say it, or approve it where the platform asks every caller." if {
	lib.watched.inference_endpoint_no_auth
	not inference_endpoint_no_auth_open
	not inference_endpoint_no_auth_known
}

inference_endpoint_no_auth_open if lib.switched_on(inference_endpoint_no_auth_settings.open_fields)

inference_endpoint_no_auth_open if lib.mentions(inference_endpoint_no_auth_settings.auth_fields, inference_endpoint_no_auth_settings.open_values)

inference_endpoint_no_auth_open if {
	some value in lib.values(array.concat(inference_endpoint_no_auth_settings.required_fields, inference_endpoint_no_auth_settings.auth_fields))
	lib.is_no(value)
}

inference_endpoint_no_auth_known if lib.among(inference_endpoint_no_auth_settings.auth_fields, inference_endpoint_no_auth_settings.known)

inference_endpoint_no_auth_known if lib.affirmed(inference_endpoint_no_auth_settings.required_fields)
