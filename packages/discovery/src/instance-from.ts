import type { InstanceStatus, ServiceInstance } from '@spock/protocol';
import { isInteger, isObject } from '@spock/protocol/internal';

const STATUSES: ReadonlySet<unknown> = new Set<InstanceStatus>(['passing', 'warning', 'critical', 'maintenance']);

/** An instance as this program writes it into files, frozen; undefined for anything that is not whole. */
export function instanceFrom(value: unknown): ServiceInstance | undefined {
	if (!isObject(value)) return undefined;
	const { instance, host, port, weight, status, tags, meta, zone, datacenter } = value;
	const isWhole =
		typeof instance === 'string' &&
		typeof host === 'string' &&
		isInteger(port, 0, 65_535) &&
		typeof weight === 'number' &&
		weight >= 0 &&
		STATUSES.has(status) &&
		isStrings(tags) &&
		isTexts(meta) &&
		isTextOrNull(zone) &&
		isTextOrNull(datacenter);
	if (!isWhole) return undefined;
	return Object.freeze({
		instance,
		host,
		port,
		weight,
		status: status as InstanceStatus,
		tags: Object.freeze(tags),
		meta: Object.freeze(meta),
		zone,
		datacenter,
	});
}

/** True for a list of texts. */
export function isStrings(value: unknown): value is string[] {
	return Array.isArray(value) && value.every((item) => typeof item === 'string');
}

function isTexts(value: unknown): value is Record<string, string> {
	return isObject(value) && Object.values(value).every((item) => typeof item === 'string');
}

function isTextOrNull(value: unknown): value is string | null {
	return value === null || typeof value === 'string';
}
