import { type ServiceQuery, SpockError } from '@spock/protocol';

/** As Consul's DNS interface names services: https://developer.hashicorp.com/consul/docs/services/discovery/dns-static-lookups */
export const DEFAULT_NAME_TEMPLATE = '[{tag}.]{service}.service[.{datacenter}.dc].consul';

const NAME_LENGTH_MAX = 253;
/** A label of a name as services have it: RFC 1035, and the underscore of RFC 2782. */
const LABEL = /^[a-z0-9_](?:[a-z0-9_-]{0,61}[a-z0-9_])?$/i;
const PART = /\[([^[\]]*)\]|\{([^{}]*)\}|([^[\]{}]+)/y;

/**
 * What Consul's DNS looks up other things by: the last of these labels in a name decides, so that a datacenter of such a name would
 * make it another question. https://github.com/hashicorp/consul/blob/v1.20.2/agent/dns.go (dispatch)
 */
const CONSUL_KINDS: ReadonlySet<string> = new Set([
	...['service', 'connect', 'virtual', 'ingress', 'node', 'query', 'addr'],
]);
/** Stands for a value in a label. */
const MARK = '*';
/** Stands for a tag at the start of a name, whose dots leave it a tag. */
const LABELS = '+';

type Placeholder = 'service' | 'tag' | 'datacenter';
type Values = Readonly<Record<Placeholder, string | undefined>>;

/** Text, a value, or text round a value that is left out together with it. */
type Part =
	| string
	| { readonly before: string; readonly value: Placeholder; readonly after: string; readonly optional: boolean };

/** A template of DNS names, read once. */
export class NameTemplate {
	/** As it was given. */
	readonly text: string;
	readonly #parts: readonly Part[];
	readonly #isTagFirst: boolean;

	/** Throws a TypeError that says what is wrong with the template. */
	constructor(text: string) {
		this.text = text;
		this.#parts = readParts(text);
		const values = this.#parts.flatMap((part) => (typeof part === 'string' ? [] : [part.value]));
		if (!values.includes('service')) throw wrong(text, 'it must contain {service}');
		if (new Set(values).size < values.length) throw wrong(text, 'each placeholder may occur once');
		if (nameIn(this.#render({ service: 's', tag: 't', datacenter: 'd' })) === undefined)
			throw wrong(text, 'it does not make a valid DNS name');
		this.#isTagFirst = text.startsWith('[{tag}.') || text.startsWith('{tag}.');
		const shapes = this.#shapes();
		if (shapes.flat().some((label) => label !== LABELS && label.split(MARK).length > 2))
			throw wrong(text, 'there must be a dot between two placeholders: one value could be read as a part of the other');
		if (shapes.some((shape, index) => shapes.slice(index + 1).some((other) => mayBeSame(shape, other))))
			throw wrong(text, 'two queries could have the same name; put other text round what is optional');
	}

	/** The text after the last value: what the names of all services end with. */
	get suffix(): string {
		const last = this.#parts.at(-1);
		return typeof last === 'string' ? last.replace(/^\./, '') : '';
	}

	/**
	 * The name to ask for. Undefined for a query that no DNS name can stand for, so that DNS knows no such service: each value is one
	 * label, because a dot in `api.v1` would make it the service `v1` with the tag `api`. Throws BAD_REQUEST, whose `details.path` names the member, for a condition that the template has no place for: an answer
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
		const isOne = (value: string | undefined): boolean => value === undefined || !value.includes('.');
		if (!isOne(service) || !isOne(datacenter) || !(this.#isTagFirst || isOne(tag))) return undefined;
		// Of a tag and a service, `_x._y` is the service `x` with the tag `y`: RFC 2782. A label with an underscore ends Consul's search for a kind.
		if (/^_|\._/.test(tag ?? '') || datacenter?.startsWith('_')) return undefined;
		if (this.#isConsuls && CONSUL_KINDS.has(datacenter?.toLowerCase() ?? '')) return undefined;
		return nameIn(this.#render({ service, tag, datacenter }));
	}

	#has(value: Placeholder): boolean {
		return this.#parts.some((part) => typeof part !== 'string' && part.value === value);
	}

	get #isConsuls(): boolean {
		return this.#parts.some((part) => typeof part === 'string' && /(?:^|\.)service(?:\.|$)/i.test(part));
	}

	/** The labels of the names that it makes, with and without what is optional. */
	#shapes(): string[][] {
		const optional = this.#parts.flatMap((part) => (typeof part !== 'string' && part.optional ? [part.value] : []));
		return Array.from({ length: 2 ** optional.length }, (_, bits) => {
			const left = optional.filter((_value, index) => ((bits >> index) & 1) === 0);
			const values = { service: MARK, tag: this.#isTagFirst ? LABELS : MARK, datacenter: MARK };
			return this.#render({ ...values, ...Object.fromEntries(left.map((value) => [value, undefined])) }).split('.');
		});
	}

	#render(values: Values): string {
		let name = '';
		for (const part of this.#parts) {
			if (typeof part === 'string') {
				name += part;
				continue;
			}
			const value = values[part.value];
			// Of a query without a tag or a datacenter that must stand there.
			if (value === undefined && !part.optional) return '';
			if (value !== undefined) name += `${part.before}${value}${part.after}`;
		}
		return name;
	}
}

function nameIn(text: string): string | undefined {
	return text.length <= NAME_LENGTH_MAX && text.split('.').every((label) => LABEL.test(label)) ? text : undefined;
}

/** True if names of both shapes may be equal, compared from the right. */
function mayBeSame(left: readonly string[], right: readonly string[]): boolean {
	for (let behind = 1; behind <= Math.min(left.length, right.length); behind++) {
		const [one, other] = [left.at(-behind) as string, right.at(-behind) as string];
		if (one === LABELS || other === LABELS) return true;
		if (one.toLowerCase() !== other.toLowerCase() && !one.includes(MARK) && !other.includes(MARK)) return false;
	}
	return left.length === right.length;
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
