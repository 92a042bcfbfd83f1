package gate.templates.privileged_documents_test

import rego.v1

import data.gate.templates.fixtures

name := "privileged_documents"

test_marks_are_found_anywhere if {
	every arguments in [
		{"attorney_client": "yes"},
		{"file": {"labels": ["Privileged & Confidential"]}},
		{"path": "/memos/attorney_work_product.docx", "to": "a@b.example"},
	] {
		fixtures.denies(name, {"tool_type": "uploadFile", "arguments": arguments})
	}
}

test_within_the_privilege_it_may_go if fixtures.silent(name, {"tool_type": "send_email", "arguments": {"to": ["gc@client.example"], "privileged": true}}) with data.gate.privileged_documents as {"internal_domains": ["client.example"]}

test_one_outsider_breaks_it if fixtures.denies(name, {"tool_type": "send_email", "arguments": {"to": "gc@client.example", "cc": "pr@agency.example", "privileged": true}}) with data.gate.privileged_documents as {"internal_domains": ["client.example"]}

test_marks_wait if fixtures.asks(name, {"tool_type": "waive_privilege", "arguments": {}})
