# Template: recruiter_pii
# Domain: hr
# Severity: high
# Frameworks: GDPR, EEOC, EU-AI-Act, employment
# Tags: recruiting, fairness
# Tier: mixed
# Tool surface: reject_candidate, score_candidate, share_resume, export_candidates, search_candidates
# Summary: Candidates. Nobody is rejected or ranked by an agent alone or by what the law forbids to ask; résumés leave for people who hire, after a look.
# Purpose: GDPR article 22 and the EU AI Act (annex III, 4) want a person in decisions on applicants; title VII forbids some reasons whoever acts.
# Inputs: criteria, filter, gender, age, birth_date and their like; candidate_ids; to; at any depth.
# Edit: decide_tools, rank_tools, share_tools, protected_fields, criteria_fields, protected_words, recipient_fields, internal_domains.

package gate.authz

import rego.v1

import data.gate.lib

recruiter_pii_defaults := {
	"decide_tools": [
		"applicant_disposition", "applicant_reject", "application_advance", "application_decline", "application_reject", "candidate_advance",
		"candidate_decline", "candidate_disqualify", "candidate_reject", "offer_extend", "offer_rescind", "offer_send",
	],
	"rank_tools": [
		"applicant_filter", "applicant_rank", "applicant_score", "applicant_screen", "applicant_search", "candidate_filter", "candidate_match",
		"candidate_rank", "candidate_score", "candidate_screen", "candidate_search", "candidate_shortlist", "resume_rank", "resume_score",
		"resume_screen",
	],
	"share_tools": [
		"applicant_export", "candidate_export", "candidate_forward", "candidate_profile_send", "candidate_send", "candidate_share", "cv_forward",
		"cv_share", "resume_forward", "resume_send", "resume_share", "talent_pool_export",
	],
	"protected_fields": [
		"age", "birth_date", "birth_year", "children", "citizenship", "date_of_birth", "disability", "ethnicity", "gender", "marital_status",
		"max_age", "nationality", "parental_status", "photo", "pregnancy", "race", "religion", "sex", "sexual_orientation", "union_membership",
	],
	"criteria_fields": [
		"criteria", "filter", "prompt", "query", "reason", "reject_reason", "rejection_reason", "requirement", "rubric",
	],
	"protected_words": [
		"ethnicity", "female", "gender", "male", "marital", "nationality", "native_speaker", "pregnant", "religion", "too_old", "too_young",
	],
	"recipient_fields": ["email", "recipient", "to", "url"],
	"internal_domains": [],
}

recruiter_pii_settings := object.union(recruiter_pii_defaults, given) if given := data.gate.recruiter_pii

else := recruiter_pii_defaults

watches contains "recruiter_pii_decide" if lib.tool_changes(recruiter_pii_settings.decide_tools)

watches contains "recruiter_pii_rank" if lib.tool_is(recruiter_pii_settings.rank_tools)

watches contains "recruiter_pii_share" if lib.tool_changes(recruiter_pii_settings.share_tools)

# METADATA
# title: By what nobody may ask
deny contains "Violation: recruiter_pii: the criteria hold what the law protects (gender, age, nationality and the like); leave it out, and judge by the requirements of the post." if {
	recruiter_pii_judges
	recruiter_pii_protected
}

# METADATA
# title: A decision on a person
review contains "Review: recruiter_pii: a candidate would be told yes or no; approve it as the recruiter who read the application." if {
	lib.watched.recruiter_pii_decide
}

# METADATA
# title: A résumé that leaves
review contains "Review: recruiter_pii: data of candidates go to a recipient (to) that is not of internal_domains; approve it where they agreed." if {
	lib.watched.recruiter_pii_share
	not lib.inside(recruiter_pii_settings.recipient_fields, recruiter_pii_settings.internal_domains)
}

recruiter_pii_judges if lib.watched.recruiter_pii_rank

recruiter_pii_judges if lib.watched.recruiter_pii_decide

recruiter_pii_protected if lib.given(recruiter_pii_settings.protected_fields)

recruiter_pii_protected if lib.mentions(recruiter_pii_settings.criteria_fields, recruiter_pii_settings.protected_words)
