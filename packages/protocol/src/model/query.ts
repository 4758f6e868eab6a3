import { badMember, badValue } from '../errors/spock-error.ts';
import { QUERY_META_MAX, QUERY_TAGS_MAX } from '../foundation/limits.ts';
import { isName, isObject, NAME_RULE } from '../foundation/values.ts';

/** Whose service is meant: instances of two scopes are never the same ones. */
export interface ServiceScope {
	/** The service's name, 1 to 512 characters. */
	readonly service: string;
	/** The registry's datacenter. Default: the one of the sidecar's backend. */
	readonly datacenter?: string;
	/** The registry's cluster peer that the service is imported from. Default: the registry itself. */
	readonly peer?: string;
}

/** What is asked of the registry. Two queries with equal members are one watch, one cache entry and one subscription. */
export interface ServiceQuery extends ServiceScope {
	/** Only instances that carry every one of these tags. Default: no condition. */
	readonly tags?: readonly string[];
	/** Only instances whose metadata has every one of these values, at most 16. Default: no condition. */
	readonly meta?: Readonly<Record<string, string>>;
}

/** A member of a query besides its service. */
export type QueryMemberName = Exclude<keyof ServiceQuery, 'service'>;

/** What the value of a member is: a name; names, all of which must be there; or names with a value each. */
type QueryValue = string | readonly string[] | Readonly<Record<string, string>>;
type KindOf<V extends QueryValue> = V extends string ? 'name' : V extends readonly string[] ? 'names' : 'pairs';

/** What a condition may look at. */
interface Conditioned {
	readonly tags: readonly string[];
	readonly meta: Readonly<Record<string, string>>;
}

/** One member of a query, described for everything that reads, writes or shows queries. */
export interface QueryMember<V extends QueryValue = QueryValue> {
	readonly kind: KindOf<V>;
	/** `scope`: which service is meant. `condition`: which of its instances. */
	readonly role: 'scope' | 'condition';
	/** Its value in a query. */
	of(query: ServiceQuery): V | undefined;
	/** Whether an instance meets the condition; a scope is the registry's to judge. */
	matches?(value: V, instance: Conditioned): boolean;
	/** Its flag on the command line, and its parameter in the target of a gRPC channel. */
	readonly flag: string;
	/** For the help of the flag. */
	readonly about: string;
	/** For people, behind the service's name in a list. */
	label(value: V): string;
	/** For people, in a sentence: behind `no instance of "x"` for a condition, behind `is registered` for a scope. */
	phrase(value: V): string;
}

type Row<M extends QueryMemberName, V extends QueryValue = NonNullable<ServiceQuery[M]>> = QueryMember<V> &
	(M extends keyof ServiceScope ? { readonly role: 'scope' } : Required<Pick<QueryMember<V>, 'matches'>>);

/**
 * Everything that is known of the members of a query. A member is added in the interface above, here, in the contract of gRPC and in the
 * backends that have a way of their own to ask for it.
 */
const MEMBERS: { readonly [M in QueryMemberName]: Row<M> } = {
	tags: {
		kind: 'names',
		role: 'condition',
		of: ({ tags }) => tags,
		matches: (tags, instance) => tags.every((tag) => instance.tags.includes(tag)),
		flag: 'tag',
		about: 'only instances with this tag',
		label: (tags) => `[${tags.join(',')}]`,
		phrase: (tags) => `with the tags ${tags.join(', ')}`,
	},
	datacenter: {
		kind: 'name',
		role: 'scope',
		of: ({ datacenter }) => datacenter,
		flag: 'datacenter',
		about: 'look in this datacenter',
		label: (datacenter) => `@${datacenter}`,
		phrase: (datacenter) => `in datacenter ${JSON.stringify(datacenter)}`,
	},
	meta: {
		kind: 'pairs',
		role: 'condition',
		of: ({ meta }) => meta,
		matches: (meta, instance) => Object.entries(meta).every(([name, value]) => instance.meta[name] === value),
		flag: 'meta',
		about: 'only instances with this metadata',
		label: (meta) =>
			Object.entries(meta)
				.map(([name, value]) => `${name}=${value}`)
				.join(' '),
		phrase: (meta) => `with the metadata ${JSON.stringify(meta)}`,
	},
	peer: {
		kind: 'name',
		role: 'scope',
		of: ({ peer }) => peer,
		flag: 'peer',
		about: 'as imported from this cluster peer',
		label: (peer) => `from ${peer}`,
		phrase: (peer) => `by the peer ${JSON.stringify(peer)}`,
	},
};

/** The table as a list, in the order in which keys, flags and labels have the members. */
export const queryMembers: readonly (QueryMember & { readonly name: QueryMemberName })[] =
	/* @__PURE__ */ listMembers();

function listMembers(): typeof queryMembers {
	const rows = Object.entries(MEMBERS) as [QueryMemberName, QueryMember][];
	// Not frozen: a loop over a frozen list of frozen rows took three times as long.
	return rows.map(([name, member]) => ({ name, ...member }));
}

/** What there is to do with the value of a member of one kind. */
interface Kind<V extends QueryValue> {
	/** Throws BAD_REQUEST for a bad value; `path` names it. */
	check(value: unknown, path: string): V;
	/** Whether the value has the type: for what a sidecar, which has checked it, sends. */
	isOf(value: unknown): value is V;
	/** What stands in a key: in one order and without repetitions. Undefined where nothing is asked for. */
	canonical(value: V): unknown;
	/** What stands in a key where nothing is asked for, as JSON. */
	readonly nothing: 'null' | '[]';
	/** The frozen value, of what stands in a key. */
	normalised(canonical: unknown): unknown;
}

const KINDS: {
	readonly name: Kind<string>;
	readonly names: Kind<readonly string[]>;
	readonly pairs: Kind<Readonly<Record<string, string>>>;
} = {
	name: {
		check: checkName,
		isOf: (value) => typeof value === 'string',
		canonical: (name) => name,
		nothing: 'null',
		normalised: (name) => name,
	},
	names: {
		check: checkNames,
		isOf: (value): value is readonly string[] => Array.isArray(value) && value.every((one) => typeof one === 'string'),
		canonical: (names) => (names.length === 0 ? undefined : names.length === 1 ? names : [...new Set(names)].sort()),
		nothing: '[]',
		normalised: (names) => Object.freeze([...(names as readonly string[])]),
	},
	pairs: {
		check: (value, path) => {
			if (!isObject(value) || Object.keys(value).length > QUERY_META_MAX) {
				throw badMember(path, `must be an object of at most ${QUERY_META_MAX} strings`);
			}
			for (const [name, text] of Object.entries(value)) {
				if (!isName(name)) throw badValue(path, `must have names that are ${NAME_RULE}`, name);
				if (text !== '' && !isName(text)) throw badValue(`${path}.${name}`, `must be '' or ${NAME_RULE}`, text);
			}
			return value as Record<string, string>;
		},
		isOf: (value): value is Readonly<Record<string, string>> =>
			isObject(value) && Object.values(value).every((one) => typeof one === 'string'),
		canonical: (pairs) => {
			const entries = Object.entries(pairs);
			return entries.length === 0 ? undefined : entries.sort(([left], [right]) => (left < right ? -1 : 1));
		},
		nothing: 'null',
		normalised: (entries) => Object.freeze(Object.fromEntries(entries as [string, string][])),
	},
};

/** The name itself. Throws BAD_REQUEST for anything else; `path` names it. */
export function checkName(value: unknown, path: string): string {
	if (!isName(value)) throw badValue(path, `must be ${NAME_RULE}`, value);
	return value;
}

/** The names, such as tags, themselves. Throws BAD_REQUEST for anything else; `path` names what is wrong. */
export function checkNames(value: unknown, path: string): readonly string[] {
	if (!Array.isArray(value) || value.length > QUERY_TAGS_MAX) {
		throw badMember(path, `must be an array of at most ${QUERY_TAGS_MAX} strings`);
	}
	value.forEach((name, index) => {
		checkName(name, `${path}[${index}]`);
	});
	return value;
}

/** A query of the service with what `take` gives for each member that `from` has; what is undefined is left out. */
function takeMembers(
	service: string,
	from: object,
	take: (value: QueryValue, kind: Kind<QueryValue>, name: string) => unknown,
): ServiceQuery {
	const query: Record<string, unknown> = { service };
	for (const { name, kind, of } of queryMembers) {
		const given = of(from as ServiceQuery);
		// Absent members are null in some clients' JSON.
		if (given === undefined || given === null) continue;
		const value = take(given, KINDS[kind] as Kind<QueryValue>, name);
		if (value !== undefined) query[name] = value;
	}
	return query as unknown as ServiceQuery;
}

/** The query in the data of a request, checked, without what else is there. Throws BAD_REQUEST, whose `details.path` names the member. */
export function checkQuery(members: Readonly<Record<string, unknown>>): ServiceQuery {
	const service = checkName(members['service'], 'service');
	return takeMembers(service, members, (value, kind, name) => kind.check(value, name));
}

/** The query that a snapshot of the service answers, as a sidecar sent it: what has another type is left out. */
export function readQuery(service: string, members: Readonly<Record<string, unknown>>): ServiceQuery {
	return takeMembers(service, members, (value, kind) =>
		kind.isOf(value) && kind.canonical(value) !== undefined ? Object.freeze(value) : undefined,
	);
}

/** The query with only the members that count, tags sorted and each once; frozen. */
export function normaliseQuery(query: ServiceQuery): ServiceQuery {
	return Object.freeze(
		takeMembers(query.service, query, (value, kind) => {
			const canonical = kind.canonical(value);
			return canonical === undefined ? undefined : kind.normalised(canonical);
		}),
	);
}

/**
 * The key under which a query is cached and subscribed: equal queries have equal keys, whatever the order or repetition
 * of their tags, and different queries have different keys. A query with a name alone is its name, because that is nearly every query.
 */
export function queryKey(query: ServiceQuery): string {
	// By name, and checked by a test for each member: 9 ns, and 28 by a loop over the table.
	const { service, tags, datacenter, meta, peer } = query;
	const isPlain = tags === undefined && datacenter === undefined && meta === undefined && peer === undefined;
	if (isPlain && !service.includes('\n')) return service;
	let isName = !service.includes('\n');
	let rest = '';
	for (const { of, canonical, nothing } of keyParts) {
		const value = of(query);
		const part = value === undefined ? undefined : canonical(value);
		if (part !== undefined) isName = false;
		rest += `${rest === '' ? '' : ','}${part === undefined ? nothing : JSON.stringify(part)}`;
	}
	// JSON holds no raw newline, so the last newline of a key ends the name: no two queries share a key, whatever their names are.
	return isName ? service : `${service}\n[${rest}]`;
}

/** What a key needs of each member, at hand: looked up each time, a long key took a fifth longer. */
const keyParts = /* @__PURE__ */ queryMembers.map(({ kind, of }) => {
	const { canonical, nothing } = KINDS[kind] as Kind<QueryValue>;
	return { of, canonical, nothing };
});

/** True for an instance that meets a query's conditions. */
export function isAskedFor(query: ServiceQuery, instance: Conditioned): boolean {
	return queryMembers.every((member) => {
		const value = member.of(query);
		return value === undefined || member.matches?.(value, instance) !== false;
	});
}

/** The service that a query is about, without conditions on its instances. */
export function scopeOf(query: ServiceScope): ServiceScope {
	const scope: Record<string, unknown> = { service: query.service };
	for (const { name, role, of } of queryMembers) {
		const value = role === 'scope' ? of(query) : undefined;
		if (value !== undefined) scope[name] = value;
	}
	return scope as unknown as ServiceScope;
}

/** Equal for queries about the same service, with the same `rest`, and for no others. */
export function scopeKey(query: ServiceScope, ...rest: readonly unknown[]): string {
	const parts: unknown[] = [query.service];
	for (const { role, of } of queryMembers) if (role === 'scope') parts.push(of(query) ?? null);
	return JSON.stringify([...parts, ...rest]);
}

/** True for queries about the same service; allocates nothing. */
export function isSameScope(left: ServiceScope, right: ServiceScope): boolean {
	if (left === right) return true;
	if (left.service !== right.service) return false;
	for (const { role, of } of queryMembers) if (role === 'scope' && of(left) !== of(right)) return false;
	return true;
}

/** True for a query that leaves instances of its service out. */
export function hasConditions(query: ServiceQuery): boolean {
	return queryMembers.some(({ role, of }) => role === 'condition' && of(query) !== undefined);
}

/** What a query asks for besides its service, for people, to stand behind the name in a list; empty where there is nothing. */
export function queryLabel(query: ServiceQuery): string {
	return textOf(query, (member, value) => member.label(value));
}

/** The members of a role in a sentence, each behind a space. */
export function queryPhrase(query: ServiceQuery, asked: QueryMember['role']): string {
	const text = textOf(query, (member, value) => (member.role === asked ? member.phrase(value) : ''));
	return text === '' ? '' : ` ${text}`;
}

function textOf(query: ServiceQuery, print: (member: QueryMember, value: QueryValue) => string): string {
	const texts = queryMembers.map((member) => {
		const value = member.of(query);
		return value === undefined ? '' : print(member, value);
	});
	return texts.filter((text) => text !== '').join(' ');
}
