package gate.templates.embedding_corpus_external_test

import rego.v1

import data.gate.templates.fixtures

name := "embedding_corpus_external"

test_confidential_texts_stay if {
	every arguments in [
		{"provider": "someone", "classification": "internal"},
		{"base_url": "https://api.embed.example/v1", "texts": ["SSN 078-05-1120"]},
		{"provider": "someone", "classification": ["public", "secret"]},
	] {
		fixtures.denies(name, {"tool_type": "embed_documents", "arguments": arguments})
	}
}

test_others_wait if {
	every arguments in [
		{"provider": "someone", "texts": ["hello"]},
		{"options": {"baseUrl": "https://api.embed.example/v1"}},
	] {
		fixtures.asks(name, {"tool_type": "embed_documents", "arguments": arguments})
	}
}

test_listed_providers_get_all if {
	every arguments in [
		{"provider": "Bedrock", "classification": "internal"},
		{"texts": ["SSN 078-05-1120"]},
		{"provider": "self_hosted"},
	] {
		fixtures.silent(name, {"tool_type": "embed_documents", "arguments": arguments})
	}
}

test_public_texts_go_anywhere if {
	every arguments in [
		{"provider": "someone", "classification": "Public"},
	] {
		fixtures.silent(name, {"tool_type": "embed_documents", "arguments": arguments})
	}
}

test_domains_are_a_parameter if {
	every arguments in [
		{"base_url": "https://embed.acme.example/v1", "classification": "secret"},
	] {
		fixtures.silent(name, {"tool_type": "embed_documents", "arguments": arguments}) with data.gate.embedding_corpus_external as {"approved_domains": ["acme.example"]}
	}
}

test_another_tool_is_let_through if {
	every arguments in [
		{"provider": "someone", "classification": "internal"},
		{"base_url": "https://api.embed.example/v1", "texts": ["SSN 078-05-1120"]},
		{"provider": "someone", "classification": ["public", "secret"]},
		{"provider": "someone", "texts": ["hello"]},
		{"options": {"baseUrl": "https://api.embed.example/v1"}},
	] {
		fixtures.silent(name, {"tool_type": "summarize_thread", "arguments": arguments})
	}
}
