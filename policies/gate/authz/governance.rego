# Summary: Governance. How the findings of every rule family become one verdict.
# Tier: deny
#
# A call passes only when nothing denies it and nothing asks for a human; an input or a data document that cannot be read
# denies.

package gate.authz

import rego.v1

import data.gate.lib

# METADATA
# title: Allow
# description: True only when no rule denied and no rule asked for review.
default allow := false

allow if {
	count(deny) == 0
	count(review) == 0
}

# METADATA
# title: Complete input
# description: tool_type, agent_history and intent_score are required; without them nothing is judged.
deny contains "Violation: the policy input is incomplete: tool_type, agent_history and intent_score are required." if {
	not input_complete
}

input_complete if {
	is_string(input.tool_type)
	input.tool_type != ""
	is_array(input.agent_history.recent_sequence)
	is_number(input.intent_score)
}

# METADATA
# title: Complete data
# description: A list or number missing from data.json must close the gate, not open it.
deny contains "Violation: the policy data is incomplete; check data.json." if not data_complete

data_complete if {
	every list in [
		data.gate.denylist.sql,
		data.gate.denylist.shell,
		data.gate.destructive.verbs,
		data.gate.destructive.nouns,
		data.gate.destructive.pairs,
		data.gate.destructive.objects,
		data.gate.sql.query_words,
		data.gate.sql.engine_words,
		data.gate.sql.statement_arguments,
		data.gate.sql.sql_arguments,
		data.gate.sql.carriers,
		data.gate.identity.tools,
		data.gate.bulk_export.tools,
		data.gate.money.wire_tools,
		data.gate.money.tools,
		data.gate.production_writes.verbs,
		data.gate.production_writes.objects,
		data.gate.production_writes.environment_arguments,
		data.gate.production_writes.environment_words,
		data.gate.deployment.tools,
		data.gate.information_flow.outbound_tools,
		data.gate.information_flow.paying_tools,
		data.gate.information_flow.fetching_tools,
		data.gate.information_flow.destination_arguments,
		data.gate.kill_chain.sensitive_read_tools,
		data.gate.kill_chain.external_egress_tools,
		data.gate.plain_reads.verbs,
		data.gate.plain_reads.bare_verbs,
		data.gate.plain_reads.closing_verbs,
		data.gate.plain_reads.acting,
		data.gate.plain_reads.nouns,
		data.gate.plain_reads.particles,
		data.gate.plain_reads.prefixes,
		data.gate.plain_reads.digit_words,
		data.gate.plain_reads.secrets,
		data.gate.plain_reads.outside,
		data.gate.plain_reads.obtaining_verbs,
		data.gate.plain_reads.money,
		data.gate.plain_reads.about_money,
		data.gate.plain_reads.outright,
		data.gate.plain_reads.fillers,
		data.gate.plain_reads.taking_verbs,
		data.gate.plain_reads.queue_items,
		data.gate.plain_reads.about_queues,
		data.gate.plain_reads.powers,
		data.gate.plain_reads.glued_words,
		data.gate.plain_reads.purposes,
		data.gate.plain_reads.rights,
		data.gate.money_arguments.amounts,
		data.gate.money_arguments.amount_parts,
		data.gate.money_arguments.amount_words,
		data.gate.money_arguments.prices,
		data.gate.money_arguments.counts,
		data.gate.money_arguments.currencies,
		data.gate.money_arguments.payees,
		data.gate.money_arguments.payee_parts,
		data.gate.money_arguments.payee_words,
		data.gate.money_arguments.directions,
		data.gate.money_arguments.direction_parts,
		data.gate.money_arguments.parties,
	] {
		is_array(list)
	}
	every number in [
		data.gate.intent.threshold,
		data.gate.persona_drift.review_from,
		data.gate.persona_drift.deny_above,
		data.gate.velocity.limit,
		data.gate.kill_chain.window_ms,
	] {
		is_number(number)
	}
}

# METADATA
# title: Retention class
# description: Denied and reviewed calls are kept longer.
default retention_class := "standard"

retention_class := "extended" if count(deny) > 0

else := "extended" if count(review) > 0

# METADATA
# title: Approval tier
# description: How much human attention a yellow call needs; strict wins over auto, standard is the rest.
default approval_tier := "standard"

approval_tier := "strict" if production_write

else := "strict" if tool_says.wants_strict_approval

else := "strict" if tool_class == "strict"

else := "auto" if rule_decides

# A rule decides only about a tool that is named exactly, that its operator has not classed for people, and whose every reason to wait is
# one that the data leaves to the machine. Anything else that speaks against the call is for a person.
rule_decides if {
	input.tool_type in data.gate.approval.auto_tools
	not tool_class in {"review", "strict"}
	every reason in review {
		reason in data.gate.approval.auto_reviews
	}
}

tool_traits contains "wants_strict_approval" if {
	lib.tool_is_any_of(data.gate.approval.strict_tools)
	not lib.tool_reads
}
