import type { RegistrationCheck } from '@spock/protocol';

import type { InstanceDefinition } from '../../foundation/registrar.ts';

const DEFAULT_CHECK_INTERVAL_MS = 10_000;
const DEFAULT_CHECK_TIMEOUT_MS = 5000;
/** What the check is called that the sidecar renews. */
const RENEWED_NAME = 'the app is connected to its sidecar';
/** What a check that Consul does itself is called, by its way: the rest of the name is what it asks, so that it can be read back. */
const APP_NAMES = { http: 'GET ', tcp: 'TCP to ' } as const;
const WAYS = ['http', 'tcp'] as const;
/** Milliseconds of the units of a duration as Go writes it: https://pkg.go.dev/time#Duration.String */
const UNITS_MS: Readonly<Record<string, number>> = { h: 3_600_000, m: 60_000, s: 1000, ms: 1, µs: 1e-3, ns: 1e-6 };

type Way = (typeof WAYS)[number];
type Checks = Readonly<Record<string, AgentCheck>>;

/** A check as an agent lists it: https://developer.hashicorp.com/consul/api-docs/agent/check#list-checks */
export interface AgentCheck {
	readonly Node?: string;
	readonly Name?: string;
	readonly ServiceID?: string;
	readonly Status?: string;
	readonly Output?: string;
	readonly Notes?: string;
	/** `http`, `tcp`, `ttl`, … */
	readonly Type?: string;
	readonly Interval?: string;
	readonly Timeout?: string;
}

/**
 * The check that the sidecar renews. A check's id is unique at its agent and not within its service: Consul's own ids begin with
 * `service:`, and what stands before the instance's id here names one kind of check, so that no two ids of ours are equal either.
 */
export function checkIdOf(id: string): string {
	return `spock:ttl:${id}`;
}

/** The check that Consul does itself. Each way has an id of its own: an agent goes on with the earlier way of a check that changes it. */
function appCheckIdOf(id: string, way: Way): string {
	return `spock:${way}:${id}`;
}

/** Source: https://developer.hashicorp.com/consul/api-docs/agent/service#enable-maintenance-mode */
export function maintenanceIdOf(id: string): string {
	return `_service_maintenance:${id}`;
}

/** Every id of a check that may be written for this instance: another program's check may have any of them. */
export function writtenIds(id: string): readonly string[] {
	return [checkIdOf(id), ...WAYS.map((way) => appCheckIdOf(id, way)), maintenanceIdOf(id)];
}

/** The one of {@link writtenIds} that another program has for something else; undefined if every one is free or this instance's. */
export function takenId(id: string, checks: Checks): string | undefined {
	return writtenIds(id).find((checkId) => (checks[checkId]?.ServiceID ?? id) !== id);
}

/** As versions before 0.2 named them: any program's check may have these ids. */
function earlierIds(id: string): { readonly renewed: string; readonly app: string } {
	return { renewed: `service:${id}`, app: `service:${id}:check` };
}

/** The check that the instance's sidecar renews, of this version or an earlier one. */
export function renewedCheck(id: string, checks: Checks): AgentCheck | undefined {
	const earlier = checks[earlierIds(id).renewed];
	return checks[checkIdOf(id)] ?? (isEarlierRenewed(id, earlier) ? earlier : undefined);
}

function isEarlierRenewed(id: string, check: AgentCheck | undefined): boolean {
	return check?.Name === RENEWED_NAME && (check.ServiceID ?? id) === id;
}

/** The check that an earlier version had Consul do, which stood beside the one that it renewed: alone, it is another program's. */
function earlierAppCheck(id: string, checks: Checks): AgentCheck | undefined {
	const { renewed, app } = earlierIds(id);
	const check = checks[app];
	return isEarlierRenewed(id, checks[renewed]) && readCheck(id, check) !== undefined ? check : undefined;
}

/** The check that Consul does itself, as it was registered; undefined if it does none, or this token may not see it. */
export function appCheck(id: string, checks: Checks): RegistrationCheck | undefined {
	const own = WAYS.map((way) => checks[appCheckIdOf(id, way)]).find((check) => readCheck(id, check) !== undefined);
	return readCheck(id, own ?? earlierAppCheck(id, checks));
}

function readCheck(id: string, check: AgentCheck | undefined): RegistrationCheck | undefined {
	const { Name = '', ServiceID, Type, Interval, Timeout } = check ?? {};
	const way = WAYS.find((one) => one === Type && Name.startsWith(APP_NAMES[one]));
	if (way === undefined || ServiceID !== id) return undefined;
	const intervalMs = durationMs(Interval);
	const timeoutMs = durationMs(Timeout);
	return {
		[way]: Name.slice(APP_NAMES[way].length),
		...(intervalMs !== undefined && { intervalMs }),
		...(timeoutMs !== undefined && { timeoutMs }),
	};
}

/** Agents before 1.10 list none. */
function durationMs(text = ''): number | undefined {
	const parts = [...text.matchAll(/([\d.]+)(h|ms|m|s|µs|ns)/g)];
	const ms = parts.reduce((sum, [, count, unit = '']) => sum + Number(count) * (UNITS_MS[unit] ?? 0), 0);
	return ms > 0 ? Math.round(ms) : undefined;
}

/**
 * Ids of checks that sidecars have given this instance and that its definition has no longer, in the order in which they are taken out:
 * what proves that the others are ours comes last. Of one that was found, a check that could not be read stays.
 */
export function outdatedChecks(
	{ id, check, isPartial = false }: InstanceDefinition,
	checks: Checks,
): readonly string[] {
	const earlier = earlierIds(id);
	const outdated: string[] = [];
	if (!isPartial || check !== undefined) {
		const current = check && wayOf(check);
		outdated.push(...WAYS.filter((way) => way !== current).map((way) => appCheckIdOf(id, way)));
		if (earlierAppCheck(id, checks) !== undefined) outdated.push(earlier.app);
	}
	if (isEarlierRenewed(id, checks[earlier.renewed])) outdated.push(earlier.renewed);
	return outdated.filter((checkId) => checks[checkId]?.ServiceID === id);
}

/** The check that the sidecar renews: https://developer.hashicorp.com/consul/api-docs/agent/check#register-check */
export function toRenewedCheck(
	id: string,
	status: string,
	{ ttlMs, deregisterAfterMs }: { readonly ttlMs: number; readonly deregisterAfterMs: number },
): Readonly<Record<string, unknown>> {
	return {
		CheckID: checkIdOf(id),
		Name: RENEWED_NAME,
		TTL: `${ttlMs}ms`,
		Status: status,
		DeregisterCriticalServiceAfter: `${deregisterAfterMs}ms`,
	};
}

/**
 * Critical until it has passed once, which is Consul's default: no caller is sent to an app that has not proved itself. One that takes the
 * place of an earlier version's goes on with the status of that.
 */
export function toAppCheck(id: string, check: RegistrationCheck, checks: Checks): Readonly<Record<string, unknown>> {
	const { http, tcp, intervalMs = DEFAULT_CHECK_INTERVAL_MS, timeoutMs = DEFAULT_CHECK_TIMEOUT_MS } = check;
	const way = wayOf(check);
	const name = `${APP_NAMES[way]}${http ?? tcp}`;
	const earlier = earlierAppCheck(id, checks);
	return {
		CheckID: appCheckIdOf(id, way),
		Name: name,
		...(http === undefined ? { TCP: tcp } : { HTTP: http }),
		Interval: `${intervalMs}ms`,
		Timeout: `${timeoutMs}ms`,
		...(earlier?.Name === name && { Status: earlier.Status }),
	};
}

function wayOf({ http }: RegistrationCheck): Way {
	return http === undefined ? 'tcp' : 'http';
}
