/**
 * Conditions on a service's metadata as an expression for Consul's `filter` parameter.
 * Source: https://developer.hashicorp.com/consul/api-docs/features/filtering
 */
export function metaFilter(meta: Readonly<Record<string, string>>): string {
	return Object.entries(meta)
		.map(([name, value]) => `Service.Meta[${quote(name)}] == ${quote(value)}`)
		.join(' and ');
}

/** A text as Go reads one: JSON's escapes are Go's. A quotation mark is one too, because the filter's grammar ends at any. */
function quote(text: string): string {
	return `"${JSON.stringify(text).slice(1, -1).replaceAll('\\"', '\\u0022')}"`;
}
