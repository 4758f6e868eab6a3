import { normaliseQuery, type ServiceAddress, type ServiceQuery, SpockError, validateQuery } from '@spock/protocol';
import { knownMembers, stringOption } from '@spock/protocol/internal';
import { QUERY_MEMBERS } from '../lookups/lookup-options.ts';

/** What host names of services end with by default. */
export const DEFAULT_NAME_SUFFIX = '.spock';

/** Which host names are services, and the query of each. */
export interface NameRuleOptions {
	/** What the host names of services end with. Default `.spock`. */
	readonly suffix?: string;
	/** Members of every query besides its service, such as tags or a datacenter. Default: none. */
	readonly query?: Omit<ServiceQuery, 'service'>;
	/**
	 * By host label: another name of the service (host names have no capitals), or what is asked for as well, which goes before
	 * that of `query`: `{ db: 'Orders_DB', barista: { tags: ['v1'] } }`. Default: none.
	 */
	readonly services?: Readonly<Record<string, string | Partial<ServiceQuery>>>;
}

/**
 * The rule by which a URL names a service: in `http://barista.spock/menu` the host's one label before the suffix is the
 * service. Everything else about the URL is left alone, and so are hosts with another end.
 */
export class NameRule {
	readonly #suffix: string;
	readonly #common: Omit<ServiceQuery, 'service'>;
	readonly #services: ReadonlyMap<string, Partial<ServiceQuery>>;
	/** By label; a program talks to few services, and to these again and again. */
	readonly #known = new Map<string, ServiceQuery>();

	/** Throws a TypeError, or BAD_REQUEST for what no service can be asked for by. */
	constructor({ suffix = DEFAULT_NAME_SUFFIX, query = {}, services = {} }: NameRuleOptions = {}) {
		const lower = stringOption('suffix', suffix).toLowerCase();
		if (!/^\.[^.].*[^.]$|^\.[^.]$/.test(lower)) {
			throw new TypeError(`suffix must begin with a dot and must not end with one, got ${JSON.stringify(suffix)}`);
		}
		this.#suffix = lower;
		this.#common = query;
		knownMembers('member of query', query, QUERY_MEMBERS.slice(1));
		validateQuery({ ...query, service: 'any' });
		this.#services = new Map(Object.entries(services).map(([label, given]) => serviceOf(label, given)));
		for (const label of this.#services.keys()) this.#queryOf(label);
	}

	/**
	 * The query of a host name; undefined if it names no service. Throws BAD_REQUEST for a name with the suffix that
	 * has not exactly one label before it.
	 */
	query(hostname: string): ServiceQuery | undefined {
		// A name may end with the dot of the root.
		const host = hostname.toLowerCase().replace(/\.$/, '');
		if (!host.endsWith(this.#suffix)) return undefined;
		const label = host.slice(0, -this.#suffix.length);
		const known = this.#known.get(label);
		if (known !== undefined) return known;
		if (label === '' || label.includes('.')) {
			const wanted = `one label before ${this.#suffix}, such as barista${this.#suffix}`;
			const message = `the host ${JSON.stringify(hostname)} does not name a service: expected ${wanted}; give tags as an option`;
			throw new SpockError('BAD_REQUEST', message, { details: { host: hostname } });
		}
		const query = this.#queryOf(label);
		if (this.#known.size >= KNOWN_MAX) this.#known.clear();
		this.#known.set(label, query);
		return query;
	}

	#queryOf(label: string): ServiceQuery {
		return normaliseQuery(validateQuery({ service: label, ...this.#common, ...this.#services.get(label) }));
	}
}

/** What is asked for by a label. Throws a TypeError naming the label. */
function serviceOf(
	label: string,
	given: string | Partial<ServiceQuery>,
): [label: string, query: Partial<ServiceQuery>] {
	if (label === '' || label.includes('.')) {
		throw new TypeError(
			`services: ${JSON.stringify(label)} is not a host label: it must not be empty or contain a dot`,
		);
	}
	const query = typeof given === 'string' ? { service: given } : given;
	knownMembers(`member of services.${label}`, query, QUERY_MEMBERS);
	return [label.toLowerCase(), query];
}

/** Queries that are remembered; host names may come from outside. */
const KNOWN_MAX = 1024;

/** How requests over HTTP go to an instance. */
export interface HttpTargetOptions extends NameRuleOptions {
	/** True: the Host header stays the name, `barista.spock`. Default false: it is the instance's host and port. */
	readonly keepHost?: boolean;
	/**
	 * The server's name in TLS: what it is asked for (SNI), and what its certificate must be for. Default: the instance's host.
	 */
	readonly servername?: string | ((query: ServiceQuery, address: ServiceAddress) => string);
}
