package gate.templates.dependency_update_unpinned_test

import rego.v1

import data.gate.templates.fixtures

name := "dependency_update_unpinned"

test_no_exact_version_waits if {
	every arguments in [
		{"package": "lodash"},
		{"package": "lodash@latest"},
		{"package": "lodash", "version": "^4.17.0"},
		{"packages": ["a@1.2.3", "requests>=2"]},
		{"dependencies": {"left-pad": "*"}},
	] {
		fixtures.asks(name, {"tool_type": "install_package", "arguments": arguments})
	}
}

test_other_places_are_refused if {
	every arguments in [
		{"package": "git+https://git.example/x.git"},
		{"package": "x==1.2.3", "index_url": "https://pypi.evil.example/simple"},
		{"package": "github:someone/x"},
	] {
		fixtures.denies(name, {"tool_type": "pip_install", "arguments": arguments})
	}
}

test_exact_versions_pass if {
	every arguments in [
		{"package": "lodash@4.17.21"},
		{"package": "@scope/x", "version": "1.2.3-rc.1"},
		{"packages": ["requests==2.32.3", "uvicorn[standard]==0.30.1"]},
		{"dependencies": {"left-pad": "1.3.0"}},
		{},
		{"package": "x==1.2.3", "index_url": "https://pypi.org/simple"},
	] {
		fixtures.silent(name, {"tool_type": "npm_install", "arguments": arguments})
	}
}

test_registries_are_a_parameter if {
	every arguments in [
		{"package": "x==1.2.3", "index_url": "https://npm.acme.example/"},
	] {
		fixtures.silent(name, {"tool_type": "pip_install", "arguments": arguments}) with data.gate.dependency_update_unpinned as {"registries": ["npm.acme.example"]}
	}
}

test_another_tool_is_let_through if {
	every arguments in [
		{"package": "lodash"},
		{"package": "lodash@latest"},
		{"package": "lodash", "version": "^4.17.0"},
		{"packages": ["a@1.2.3", "requests>=2"]},
		{"dependencies": {"left-pad": "*"}},
		{"package": "git+https://git.example/x.git"},
		{"package": "x==1.2.3", "index_url": "https://pypi.evil.example/simple"},
		{"package": "github:someone/x"},
	] {
		fixtures.silent(name, {"tool_type": "summarize_thread", "arguments": arguments})
	}
}
