# Template: model_deploy_provenance
# Domain: ml
# Severity: critical
# Frameworks: NIST-AI-RMF, SLSA
# Tags: model-supply-chain
# Tier: mixed
# Tool surface: deploy_model, promote_model, load_model, transition_model_version_stage
# Summary: Deployments of models. One without a digest or signature, or in a format that runs code, is refused; production waits.
# Purpose: A pickle runs what its author wrote when it is loaded, and a name without a revision is whatever was uploaded last (JFrog on Hugging Face, 2024).
# Inputs: sha256, signature, revision, model_file, model_uri, environment and their like, at any depth.
# Edit: tools, environment_fields, harmless_environments, proof_fields, file_fields, code_suffixes, code_switches.

package gate.authz

import rego.v1

import data.gate.lib

model_deploy_provenance_defaults := {
	"tools": [
		"model_deploy", "model_load", "model_promote", "model_rollout", "model_stage_transition", "model_version_deploy",
		"model_version_promote", "model_version_transition",
	],
	"environment_fields": ["env", "environment", "stage", "target_env", "target_stage"],
	"harmless_environments": ["ci", "dev", "development", "local", "none", "preview", "qa", "sandbox", "staging", "test"],
	"proof_fields": [
		"attestation", "commit_sha", "digest", "model_digest", "model_sha", "provenance", "sha256", "signature", "signature_bundle",
	],
	"file_fields": [
		"artifact", "artifact_uri", "checkpoint", "file", "filename", "model_file", "model_path", "model_uri", "path", "source", "uri",
		"weights",
	],
	"code_suffixes": [".bin", ".ckpt", ".dill", ".joblib", ".pickle", ".pkl", ".pt", ".pth"],
	"code_switches": ["allow_pickle", "trust_remote_code", "unsafe_load"],
}

model_deploy_provenance_settings := object.union(model_deploy_provenance_defaults, given) if given := data.gate.model_deploy_provenance

else := model_deploy_provenance_defaults

watches contains "model_deploy_provenance" if lib.tool_changes(model_deploy_provenance_settings.tools)

# METADATA
# title: It runs code
deny contains "Violation: model_deploy_provenance: a model that runs code when it is loaded (model_file, trust_remote_code); convert it to safetensors or ONNX, and leave the switch off." if {
	lib.watched.model_deploy_provenance
	model_deploy_provenance_runs_code
}

# METADATA
# title: Nobody knows which
deny contains "Violation: model_deploy_provenance: a model goes to production without a digest or a signature (sha256, signature); take it from the registry and name its digest." if {
	model_deploy_provenance_in_production
	not lib.given(model_deploy_provenance_settings.proof_fields)
}

# METADATA
# title: Production
review contains "Review: model_deploy_provenance: a model goes to production with its digest (sha256, signature); approve it where the registry has the same one and its evaluation passed." if {
	model_deploy_provenance_in_production
	lib.given(model_deploy_provenance_settings.proof_fields)
}

model_deploy_provenance_in_production if {
	lib.watched.model_deploy_provenance
	not lib.among(model_deploy_provenance_settings.environment_fields, model_deploy_provenance_settings.harmless_environments)
}

model_deploy_provenance_runs_code if lib.switched_on(model_deploy_provenance_settings.code_switches)

model_deploy_provenance_runs_code if {
	some value in lib.values(model_deploy_provenance_settings.file_fields)
	is_string(value)
	some suffix in model_deploy_provenance_settings.code_suffixes
	endswith(split(split(lower(trim_space(value)), "?")[0], "#")[0], suffix)
}
