# Template: dependency_update_unpinned
# Domain: coding
# Severity: high
# Frameworks: SOC2, supply-chain
# Tags: dependencies, supply-chain
# Tier: mixed
# Tool surface: install_package, add_dependency, update_dependency, npm_install, pip_install
# Summary: Dependencies. One without an exact version waits; one from a URL that is no registry of the company's is refused.
# Purpose: What has no exact version is whatever its author, or who took over the account, published a minute ago (event-stream 2018, ua-parser-js 2021).
# Inputs: package, dependency, version, source, index_url and their like, at any depth.
# Edit: tools, package_fields, version_fields, source_fields, registries.

package gate.authz

import rego.v1

import data.gate.lib

dependency_update_unpinned_defaults := {
	"tools": [
		"cargo_add", "dependency_add", "dependency_install", "dependency_update", "dependency_upgrade", "module_install", "npm_install",
		"package_add", "package_install", "package_update", "package_upgrade", "pip_install", "pnpm_add", "yarn_add",
	],
	"package_fields": [
		"dependencies", "dependency", "dev_dependencies", "module", "name", "package", "package_name", "requirement",
	],
	"version_fields": ["constraint", "package_version", "tag", "target_version", "to_version", "version", "version_range"],
	"source_fields": [
		"extra_index_url", "find_links", "git_url", "index_url", "registry", "registry_url", "source", "tarball", "url",
	],
	"registries": [
		"crates.io", "files.pythonhosted.org", "proxy.golang.org", "pypi.org", "registry.npmjs.org", "repo.maven.apache.org",
		"rubygems.org",
	],
}

dependency_update_unpinned_settings := object.union(dependency_update_unpinned_defaults, given) if given := data.gate.dependency_update_unpinned

else := dependency_update_unpinned_defaults

watches contains "dependency_update_unpinned" if lib.tool_changes(dependency_update_unpinned_settings.tools)

# METADATA
# title: From somewhere
deny contains "Violation: dependency_update_unpinned: a dependency comes from a place that is not in registries (source, index_url, package); publish it to a registry of the company and name its version." if {
	lib.watched.dependency_update_unpinned
	some value in lib.values(array.concat(dependency_update_unpinned_settings.source_fields, dependency_update_unpinned_settings.package_fields))
	dependency_update_unpinned_is_place(value)
	not dependency_update_unpinned_registry(value)
}

# METADATA
# title: No exact version
review contains "Review: dependency_update_unpinned: a dependency without an exact version (version); name one, such as 4.17.21, or approve what it is today." if {
	lib.watched.dependency_update_unpinned
	some required in lib.values(dependency_update_unpinned_settings.package_fields)
	is_string(required)
	some text in split(trim_space(required), " ")
	not dependency_update_unpinned_is_place(text)
	not dependency_update_unpinned_exact(text)
	not dependency_update_unpinned_versioned(text)
}

dependency_update_unpinned_is_place(value) if {
	is_string(value)
	contains(value, "://")
}

dependency_update_unpinned_is_place(value) if {
	is_string(value)
	some start in ["git+", "git@", "github:", "gitlab:", "bitbucket:", "file:", "gist:"]
	startswith(lower(trim_space(value)), start)
}

dependency_update_unpinned_registry(value) if lib.host_of(value) in dependency_update_unpinned_settings.registries

# "4.17.21", "lodash@4.17.21", "requests==2.32.3", "org.slf4j:slf4j-api:2.0.16".
dependency_update_unpinned_exact(text) if regex.match(`^(?:[^\s]*(?:@|==|:))?v?[0-9]+(?:\.[0-9]+)+(?:[-+.][0-9A-Za-z.+-]+)?$`, text)

# The name alone, and the version beside it.
dependency_update_unpinned_versioned(text) if {
	regex.match(`^@?[A-Za-z0-9][A-Za-z0-9._/:-]*(?:\[[a-z0-9,_-]+\])?$`, text)
	said := lib.values(dependency_update_unpinned_settings.version_fields)
	count(said) > 0
	every version in said {
		is_string(version)
		dependency_update_unpinned_exact(trim_prefix(trim_space(version), "="))
	}
}
