# Template: embedding_corpus_external
# Domain: ml
# Severity: high
# Frameworks: NIST-AI-RMF, GDPR
# Tags: embeddings, egress
# Tier: mixed
# Tool surface: create_embeddings, embed_documents, upsert_vectors, index_documents
# Summary: Embeddings. Texts that are confidential or personal go to a listed provider alone; others to one that is not listed wait.
# Purpose: An embedding service gets the whole text, and vectors give much of it back (Morris et al., 2023).
# Inputs: provider, base_url, endpoint, classification, and personal data anywhere in the arguments.
# Edit: tools, provider_fields, approved_providers, approved_domains, classification_fields, open_classes.

package gate.authz

import rego.v1

import data.gate.lib

embedding_corpus_external_defaults := {
	"tools": [
		"corpus_embed", "corpus_index", "document_embed", "document_index", "embedding_create", "embedding_generate", "index_upsert",
		"text_embed", "vector_insert", "vector_upload", "vector_upsert",
	],
	"provider_fields": ["api_base", "base_url", "embedding_endpoint", "endpoint", "endpoint_url", "host", "provider", "vendor"],
	"approved_providers": ["bedrock", "internal", "local", "ollama", "self-hosted"],
	"approved_domains": ["localhost.localdomain"],
	"classification_fields": ["classification", "confidentiality", "data_class", "data_classification", "sensitivity"],
	"open_classes": ["open", "public"],
}

embedding_corpus_external_settings := object.union(embedding_corpus_external_defaults, given) if given := data.gate.embedding_corpus_external

else := embedding_corpus_external_defaults

watches contains "embedding_corpus_external" if lib.tool_changes(embedding_corpus_external_settings.tools)

# METADATA
# title: Confidential or personal
deny contains "Violation: embedding_corpus_external: texts that are not public (classification), or hold personal data, go to a provider that is not listed (provider, base_url); embed them with a listed one." if {
	embedding_corpus_external_elsewhere
	embedding_corpus_external_confidential
}

# METADATA
# title: Not said
review contains "Review: embedding_corpus_external: texts go to a provider that is not listed (provider, base_url); approve it where they are public, or say so (classification)." if {
	embedding_corpus_external_elsewhere
	not embedding_corpus_external_confidential
	not lib.among(embedding_corpus_external_settings.classification_fields, embedding_corpus_external_settings.open_classes)
}

embedding_corpus_external_confidential if {
	count(lib.values(embedding_corpus_external_settings.classification_fields)) > 0
	not lib.among(embedding_corpus_external_settings.classification_fields, embedding_corpus_external_settings.open_classes)
}

embedding_corpus_external_confidential if count(lib.personal - {"email"}) > 0

# Without a provider it is the one that the tool was set up with.
embedding_corpus_external_elsewhere if {
	lib.watched.embedding_corpus_external
	some value in lib.values(embedding_corpus_external_settings.provider_fields)
	lib.says_something(value)
	not embedding_corpus_external_listed(value)
}

embedding_corpus_external_listed(value) if lib.plain(value) in {lib.plain(one) | some one in embedding_corpus_external_settings.approved_providers}

embedding_corpus_external_listed(value) if {
	host := lib.host_of(value)
	some domain in embedding_corpus_external_settings.approved_domains
	endswith(concat("", [".", host]), concat("", [".", lower(domain)]))
}
