import { type ServiceQuery, SpockError } from '@spock/client';
import { DEFAULT_NAME_SUFFIX, NameRule, type NameRuleOptions } from '@spock/client/integrations';
import { normaliseQuery, validateQuery } from '@spock/protocol';
import { queryMembers } from '@spock/protocol/internal';

/** The parts of a target that the query of a service may be refined with, and how. */
const PARAMETERS = new Map(queryMembers.filter(({ kind }) => kind !== 'pairs').map((member) => [member.flag, member]));

/** A target of grpc-js in its parts. Source: https://github.com/grpc/grpc/blob/master/doc/naming.md */
export interface TargetParts {
	readonly scheme?: string;
	readonly authority?: string;
	readonly path: string;
}

/** Reads the targets of one scheme: `spock:///employee?tag=v2&datacenter=dc1`. */
export class TargetReader {
	readonly #rule: NameRule;
	readonly #suffix: string;

	/** Throws on wrong options, as NameRule does. */
	constructor(options: NameRuleOptions = {}) {
		this.#rule = new NameRule(options);
		this.#suffix = (options.suffix ?? DEFAULT_NAME_SUFFIX).toLowerCase();
	}

	/**
	 * The question that a target asks. Its name may end with the suffix and need not. What the target says goes before what
	 * the options say. Throws BAD_REQUEST for a target that is none.
	 */
	query(target: TargetParts): ServiceQuery {
		const { name, parameters } = partsOf(target);
		const hostname = name.toLowerCase().endsWith(this.#suffix) ? name : name + this.#suffix;
		const query = this.#rule.query(hostname);
		// The name was given the suffix above, so the rule has an answer.
		if (query === undefined) throw badTarget(target, 'it does not name a service');
		return normaliseQuery(validateQuery({ ...query, ...conditions(target, parameters) }));
	}
}

/** The name that a target stands for, as people wrote it: what calls are sent to, and what a certificate is checked against. */
export function authorityOf(target: TargetParts): string {
	return partsOf(target).name;
}

function partsOf(target: TargetParts): { readonly name: string; readonly parameters: URLSearchParams } {
	if (target.authority !== undefined && target.authority !== '') {
		throw badTarget(target, `write ${target.scheme}:///NAME, with three slashes`);
	}
	const [path = '', search = ''] = target.path.split('?', 2);
	const name = path.replace(/^\/+/, '');
	if (/^[\w.-]+:\d*$/.test(name))
		throw badTarget(target, 'leave out the port: each instance has its own in the registry');
	// It becomes the host of a URL inside of grpc-js, where a bad one would fail each connection and not the caller.
	if (!/^[\w.-]+$/.test(name))
		throw badTarget(target, 'a name must consist of letters, digits, hyphens and underscores');
	return { name, parameters: new URLSearchParams(search) };
}

function conditions(target: TargetParts, parameters: URLSearchParams): Partial<ServiceQuery> {
	const found: Record<string, string | readonly string[]> = {};
	for (const [key, value] of parameters) {
		if (value === '') throw badTarget(target, `${key} must not be empty`);
		const member = PARAMETERS.get(key);
		if (member === undefined) {
			const known = [...PARAMETERS.keys()].join(', ');
			throw badTarget(target, `unknown parameter ${JSON.stringify(key)}; expected one of: ${known}`);
		}
		const { name, kind } = member;
		found[name] = kind === 'names' ? [...(found[name] ?? []), value] : value;
	}
	return found;
}

function badTarget({ scheme, authority, path }: TargetParts, reason: string): SpockError {
	const text = `${scheme}:${authority === undefined ? '' : `//${authority}/`}${path}`;
	return new SpockError('BAD_REQUEST', `the target ${JSON.stringify(text)}: ${reason}`, { details: { target: text } });
}
