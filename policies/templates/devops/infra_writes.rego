# Template: infra_writes
# Domain: devops
# Severity: critical
# Frameworks: SOC2, ISO-27001
# Tags: infrastructure, change-management
# Tier: mixed
# Tool surface: terraform_apply, helm_upgrade, kubectl_apply, update_stack
# Summary: Infrastructure. A change of production needs a reviewed plan and a change, and then a person; one that destroys is refused.
# Purpose: Most outages follow a change. What was planned and read by somebody else is what may be applied (SOC 2 CC8.1, ISO 27001 A.8.32).
# Inputs: environment, cluster, workspace, plan_id, change_ticket, destroy and their like, at any depth.
# Edit: tools, environment_fields, harmless_environments, production_words, plan_fields, ticket_fields, destroy_fields.

package gate.authz

import rego.v1

import data.gate.lib

infra_writes_defaults := {
	"tools": [
		"cloudformation_deploy", "helm_install", "helm_rollback", "helm_upgrade", "infrastructure_apply", "kubectl_apply",
		"kubectl_create", "kubectl_patch", "kubectl_replace", "kubectl_scale", "kubernetes_apply", "manifest_apply", "pulumi_up",
		"stack_create", "stack_update", "terraform_apply", "terragrunt_apply", "tofu_apply",
	],
	"environment_fields": ["cluster", "context", "env", "environment", "stage", "target_env", "workspace"],
	"harmless_environments": ["ci", "dev", "development", "local", "preview", "qa", "sandbox", "stage", "staging", "test"],
	"production_words": ["live", "prod", "production"],
	"plan_fields": ["change_set", "change_set_name", "diff_url", "plan", "plan_file", "plan_id", "plan_url", "pull_request"],
	"ticket_fields": ["change_id", "change_request", "change_ticket", "issue", "jira", "ticket", "ticket_id"],
	"destroy_fields": ["destroy", "force_replace", "prune_all", "recreate"],
}

infra_writes_settings := object.union(infra_writes_defaults, given) if given := data.gate.infra_writes

else := infra_writes_defaults

watches contains "infra_writes" if lib.tool_changes(infra_writes_settings.tools)

# METADATA
# title: It destroys
deny contains "Violation: infra_writes: a change of infrastructure that may be production has destroy switched on; leave it off, and let a person of the team take the resources away." if {
	infra_writes_touches
	lib.switched_on(infra_writes_settings.destroy_fields)
}

# METADATA
# title: No plan or no change
deny contains "Violation: infra_writes: a change of infrastructure that may be production (environment, cluster) without a plan (plan_id) and a change (change_ticket); have the plan reviewed and name both." if {
	infra_writes_touches
	not infra_writes_planned
}

# METADATA
# title: Planned
review contains "Review: infra_writes: a change of infrastructure that may be production (environment, cluster) with a plan; approve it where the plan says this and nothing more." if {
	infra_writes_touches
	infra_writes_planned
}

infra_writes_planned if {
	lib.given(infra_writes_settings.plan_fields)
	lib.given(infra_writes_settings.ticket_fields)
}

infra_writes_touches if {
	lib.watched.infra_writes
	not infra_writes_harmless
}

# "eu-staging-2" is staging; "staging-of-prod" may be anything.
infra_writes_harmless if {
	said := lib.values(infra_writes_settings.environment_fields)
	count(said) > 0
	every value in said {
		is_string(value)
		forms := lib.forms_of(value)
		lib.holds_any_of(forms, infra_writes_settings.harmless_environments)
		not lib.holds_any_of(forms, infra_writes_settings.production_words)
	}
}
