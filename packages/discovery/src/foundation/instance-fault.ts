import type { InstanceStatus } from '@spock/protocol';
import { isHost, isInteger, isObject } from '@spock/protocol/internal';

const STATUSES: ReadonlySet<unknown> = new Set<InstanceStatus>(['passing', 'warning', 'critical', 'maintenance']);
/** What a registry wrote is shown up to this length. */
const SHOWN_LENGTH_MAX = 64;

/** What is wrong with what should be an instance, as a sentence without its subject and full stop; undefined for a good one. */
export function instanceFault(value: unknown): string | undefined {
	if (!isObject(value)) return `is ${show(value)}, which is not an object`;
	const { instance, host, port, weight, status, tags, meta, zone, datacenter } = value;
	if (typeof instance !== 'string') return `has the name ${show(instance)}, which is not a string`;
	if (!isHost(host)) return `has the host ${show(host)}, which is neither an IP address nor a name`;
	if (!isInteger(port, 0, 65_535)) return `has the port ${show(port)}, which is not from 0 to 65535`;
	if (!Number.isFinite(weight) || (weight as number) < 0) return `has the weight ${show(weight)}, which is not from 0`;
	if (!STATUSES.has(status)) return `has the unknown status ${show(status)}`;
	if (!isStrings(tags)) return `has the tags ${show(tags)}, which are not a list of strings`;
	if (!isTexts(meta)) return `has the metadata ${show(meta)}, whose values are not all strings`;
	if (!isTextOrNull(zone)) return `has the zone ${show(zone)}, which is not a string`;
	if (!isTextOrNull(datacenter)) return `has the datacenter ${show(datacenter)}, which is not a string`;
	return undefined;
}

/** True for a list of strings. */
export function isStrings(value: unknown): value is string[] {
	return Array.isArray(value) && value.every((item) => typeof item === 'string');
}

function isTexts(value: unknown): value is Record<string, string> {
	return isObject(value) && Object.values(value).every((item) => typeof item === 'string');
}

function isTextOrNull(value: unknown): value is string | null {
	return value === null || typeof value === 'string';
}

function show(value: unknown): string {
	let text: string | undefined;
	try {
		text = JSON.stringify(value);
	} catch {
		// A third-party backend may give what has no JSON: a bigint, a cycle.
	}
	text ??= typeof value;
	return text.length > SHOWN_LENGTH_MAX ? `${text.slice(0, SHOWN_LENGTH_MAX)}…` : text;
}
