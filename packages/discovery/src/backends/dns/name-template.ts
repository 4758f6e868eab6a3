import { type ServiceQuery, SpockError } from '@spock/protocol';

/** As Consul's DNS interface names services: https://developer.hashicorp.com/consul/docs/services/discovery/dns-static-lookups */
export const DEFAULT_NAME_TEMPLATE = '[{tag}.]{service}.service[.{datacenter}.dc].consul';

const NAME_LENGTH_MAX = 253;
/** A label of a name as services have it: RFC 1035, and the underscore of RFC 2782. */
const LABEL = /^[a-z0-9_](?:[a-z0-9_-]{0,61}[a-z0-9_])?$/i;
const PART = /\[([^[\]]*)\]|\{([^{}]*)\}|([^[\]{}]+)/y;

type Placeholder = 'service' | 'tag' | 'datacenter';

/** Text, a value, or text round a value that is left out together with it. */
type Part =
	| string
	| { readonly before: string; readonly value: Placeholder; readonly after: string; readonly optional: boolean };

/** A template of DNS names, read once. */
export class NameTemplate {
	/** As it was given. */
	readonly text: string;
	readonly #parts: readonly Part[];

	/** Throws a TypeError that says what is wrong with the template. */
	constructor(text: string) {
		this.text = text;
		this.#parts = readParts(text);
		const values = this.#parts.flatMap((part) => (typeof part === 'string' ? [] : [part.value]));
		if (!values.includes('service')) throw wrong(text, 'it must contain {service}');
		if (new Set(values).size < values.length) throw wrong(text, 'each placeholder may occur once');
		if (this.#render({ service: 's', tag: 't', datacenter: 'd' }) === undefined)
			throw wrong(text, 'it does not make a valid DNS name');
	}

	/** The text after the last value: what the names of all services end with. */
	get suffix(): string {
		const last = this.#parts.at(-1);
		return typeof last === 'string' ? last.replace(/^\./, '') : '';
	}

	/**
	 * The name to ask for. Undefined for a query that no DNS name can stand for, so that DNS knows no such service. Throws
	 * BAD_REQUEST, whose `details.path` names the member, for a condition that the template has no place for: an answer
	 * without it would be wrong.
	 */
	nameOf(query: ServiceQuery): string | undefined {
		const { service, tags = [], datacenter, ...others } = query;
		const strange = Object.entries(others).find(([, value]) => value !== undefined)?.[0];
		if (strange !== undefined) throw noPlace(this.text, strange);
		if (tags.length > 0 && !this.#has('tag')) throw noPlace(this.text, 'tags');
		if (tags.length > 1) throw noPlace(this.text, 'tags', 'a DNS query can have only one tag');
		if (datacenter !== undefined && !this.#has('datacenter')) throw noPlace(this.text, 'datacenter');
		const [tag] = tags;
		return this.#render({ service, tag, datacenter });
	}

	#has(value: Placeholder): boolean {
		return this.#parts.some((part) => typeof part !== 'string' && part.value === value);
	}

	#render(values: Readonly<Record<Placeholder, string | undefined>>): string | undefined {
		let name = '';
		for (const part of this.#parts) {
			if (typeof part === 'string') {
				name += part;
				continue;
			}
			const value = values[part.value];
			if (value === undefined && !part.optional) return undefined;
			if (value !== undefined) name += `${part.before}${value}${part.after}`;
		}
		const isName = name.length <= NAME_LENGTH_MAX && name.split('.').every((label) => LABEL.test(label));
		return isName ? name : undefined;
	}
}

function readParts(text: string): Part[] {
	const parts: Part[] = [];
	PART.lastIndex = 0;
	while (PART.lastIndex < text.length) {
		const at = PART.lastIndex;
		const match = PART.exec(text);
		if (match === null) throw wrong(text, `syntax error at ${JSON.stringify(text.slice(at))}`);
		const [, optional, value, plain] = match;
		if (plain !== undefined) parts.push(plain);
		else if (value !== undefined)
			parts.push({ before: '', value: placeholder(text, value), after: '', optional: false });
		else {
			const inner = /^([^{}]*)\{([^{}]*)\}([^{}]*)$/.exec(optional ?? '');
			if (inner === null) throw wrong(text, 'square brackets must contain one placeholder, as in [{tag}.]');
			const [, before = '', name = '', after = ''] = inner;
			parts.push({ before, value: placeholder(text, name), after, optional: true });
		}
	}
	return parts;
}

function placeholder(text: string, name: string): Placeholder {
	if (name === 'service' || name === 'tag' || name === 'datacenter') return name;
	throw wrong(text, `unknown placeholder {${name}}; expected one of: {service}, {tag}, {datacenter}`);
}

function wrong(text: string, reason: string): TypeError {
	return new TypeError(`the DNS name template ${JSON.stringify(text)} is invalid: ${reason}`);
}

function noPlace(text: string, path: string, reason?: string): SpockError {
	const message = `DNS cannot query by ${path}: ${reason ?? `the name template ${text} has no placeholder for it`}`;
	return new SpockError('BAD_REQUEST', message, { details: { path } });
}
