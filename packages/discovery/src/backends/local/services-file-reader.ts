import type { InstanceStatus, ServiceInstance } from '@spock/protocol';
import { isHost, isName, NAME_RULE, nameHint } from '@spock/protocol/internal';
import { isMap, isNode, isSeq, type Node, type ParsedNode } from 'yaml';

import { sortInstances } from '../../foundation/snapshot-diff.ts';
import { type LocalKeys, type LocalKeysContent, readKeys } from './local-keys.ts';

/** The instances of each service in a services file, sorted. */
export type LocalServices = ReadonlyMap<string, readonly ServiceInstance[]>;

/** The content of a services file. */
export interface LocalContent {
	readonly services: LocalServices;
	readonly keys: LocalKeys;
}

/** One instance as a services file writes it. */
export interface ServicesFileInstance {
	/** An IP address or a DNS name. */
	readonly host: string;
	readonly port: number;
	/** Unique within the service. Default `host:port`. */
	readonly id?: string;
	/** Default 1. */
	readonly weight?: number;
	/** Default `passing`. */
	readonly status?: InstanceStatus;
	readonly tags?: readonly string[];
	readonly meta?: Readonly<Record<string, string>>;
	readonly zone?: string;
	readonly datacenter?: string;
}

/** A services file. */
export interface ServicesFileContent {
	readonly services: Readonly<Record<string, readonly ServicesFileInstance[]>>;
	/** The key-value store: text as it is, anything else as its JSON. Default: no keys. */
	readonly keys?: LocalKeysContent;
}

const STATUSES: readonly InstanceStatus[] = ['passing', 'warning', 'critical', 'maintenance'];
const MEMBERS = ['host', 'port', 'id', 'weight', 'status', 'tags', 'meta', 'zone', 'datacenter'];

/** Called with the first fault and its offset; does not return. */
export type Fail = (offset: number, reason: string) => never;
type Members = Readonly<Record<string, unknown>>;

/** Walks the values, and beside them the nodes with the position of each. */
export class ServicesFileReader {
	readonly #fail: Fail;

	constructor(fail: Fail) {
		this.#fail = fail;
	}

	content(value: unknown, node: ParsedNode | null): LocalContent {
		const top = this.#object(value, node, 'the file');
		this.#onlyMembers(top, node, ['services', 'keys', '$schema'], 'the file');
		return { services: this.#services(top, node), keys: this.#keys(top['keys'], child(node, 'keys') ?? node) };
	}

	#keys(value: unknown, node: Node | null | undefined): LocalKeys {
		if (value === undefined || value === null) return new Map();
		return readKeys(this.#object(value, node, 'keys'), (key, reason) =>
			this.#failAt(child(node, key) ?? node, `keys.${key}: ${reason}`),
		);
	}

	#services(top: Members, node: ParsedNode | null): LocalServices {
		const services = this.#object(top['services'], child(node, 'services') ?? node, 'services');
		const servicesNode = child(node, 'services');
		const read = new Map<string, readonly ServiceInstance[]>();
		for (const [name, list] of Object.entries(services)) {
			const listNode = child(servicesNode, name);
			if (!isName(name)) this.#failAt(listNode, `the name of a service must be ${NAME_RULE}`);
			if (!Array.isArray(list)) this.#failAt(listNode, `services.${name} must be a list of instances`);
			const path = `services.${name}`;
			const instances = (list as unknown[]).map((item, index) =>
				this.#instance(item, child(listNode, index), `${path}[${index}]`),
			);
			const seen = new Set<string>();
			for (const [index, { instance }] of instances.entries()) {
				if (seen.has(instance)) this.#failAt(child(listNode, index), `${path}[${index}] repeats the id ${instance}`);
				seen.add(instance);
			}
			read.set(name, sortInstances(instances));
		}
		return read;
	}

	#instance(value: unknown, node: Node | undefined, path: string): ServiceInstance {
		const members = this.#object(value, node, path);
		this.#onlyMembers(members, node, MEMBERS, path);
		const at = (name: string): Node | undefined => child(node, name) ?? node;
		const { host, port, weight = 1, status = 'passing' } = members;
		if (!isHost(host)) this.#failAt(at('host'), `${path}.host must be an address or a name`);
		if (!isWholeNumber(port, 1, 65_535)) this.#failAt(at('port'), `${path}.port must be a port from 1 to 65535`);
		if (typeof weight !== 'number' || !(weight >= 0 && weight <= 65_535)) {
			this.#failAt(at('weight'), `${path}.weight must be a number from 0 to 65535`);
		}
		if (!STATUSES.includes(status as InstanceStatus)) {
			this.#failAt(at('status'), `${path}.status must be one of ${STATUSES.join(', ')}`);
		}
		return Object.freeze({
			instance: this.#text(members, 'id', at('id'), path) ?? `${host as string}:${port as number}`,
			host: host as string,
			port: port as number,
			weight: weight as number,
			status: status as InstanceStatus,
			tags: this.#tags(members['tags'], at('tags'), path),
			meta: this.#meta(members['meta'], at('meta'), path),
			zone: this.#text(members, 'zone', at('zone'), path) ?? null,
			datacenter: this.#text(members, 'datacenter', at('datacenter'), path) ?? null,
		});
	}

	#tags(value: unknown, node: Node | undefined, path: string): readonly string[] {
		if (value === undefined || value === null) return Object.freeze([]);
		if (!Array.isArray(value) || !value.every((tag) => typeof tag === 'string' && tag !== '')) {
			this.#failAt(node, `${path}.tags must be a list of non-empty strings`);
		}
		return Object.freeze([...(value as string[])]);
	}

	#meta(value: unknown, node: Node | undefined, path: string): Readonly<Record<string, string>> {
		if (value === undefined || value === null) return Object.freeze({});
		const members = this.#object(value, node, `${path}.meta`);
		for (const [name, text] of Object.entries(members)) {
			if (typeof text !== 'string') this.#failAt(child(node, name) ?? node, `${path}.meta.${name} must be a string`);
		}
		return Object.freeze({ ...(members as Record<string, string>) });
	}

	#text(members: Members, name: string, node: Node | undefined, path: string): string | undefined {
		const value = members[name];
		if (value === undefined || value === null) return undefined;
		if (typeof value !== 'string' || value === '') this.#failAt(node, `${path}.${name} must be a non-empty string`);
		return value as string;
	}

	#object(value: unknown, node: Node | null | undefined, path: string): Members {
		if (typeof value !== 'object' || value === null || Array.isArray(value)) {
			this.#failAt(node, `${path} must be an object${path === 'the file' ? ' with the member services' : ''}`);
		}
		return value as Members;
	}

	#onlyMembers(members: Members, node: Node | null | undefined, known: readonly string[], path: string): void {
		for (const name of Object.keys(members)) {
			if (known.includes(name)) continue;
			this.#failAt(child(node, name) ?? node, `${path} has an unknown member ${name}; ${nameHint(name, known)}`);
		}
	}

	#failAt(node: Node | null | undefined, reason: string): never {
		return this.#fail(node?.range?.[0] ?? 0, reason);
	}
}

function child(node: Node | null | undefined, key: string | number): Node | undefined {
	if (!isMap(node) && !isSeq(node)) return undefined;
	const found: unknown = node.get(key, true);
	return isNode(found) ? found : undefined;
}

function isWholeNumber(value: unknown, min: number, max: number): value is number {
	return typeof value === 'number' && Number.isInteger(value) && value >= min && value <= max;
}
