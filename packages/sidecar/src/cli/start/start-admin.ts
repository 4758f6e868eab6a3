import { systemClock } from '@spock/protocol/internal';
import { parseHostPort } from '@spock/protocol/node';
import type { Logger } from 'pino';

import { AdminServer, refuseRemoteAdmin } from '../../admin/admin-server.ts';
import type { SidecarMetrics } from '../../admin/metrics/sidecar-metrics.ts';
import type { StatusModel } from '../../admin/status-model.ts';
import { StatusSite } from '../../admin/status-site.ts';
import type { Sidecar } from '../../sidecar.ts';
import { untilFree } from '../../take-over/until-free.ts';
import { logTakeOver } from '../log/connection-log.ts';
import { CommandError, EXIT } from '../output/output.ts';
import type { Settings } from '../settings/settings.ts';

/** What the admin port shows. */
export interface AdminParts {
	readonly sidecar: Sidecar;
	readonly metrics: SidecarMetrics;
	readonly model: StatusModel;
}

/** Where the admin port is to be, if one is asked for. Throws an Error that says what is wrong with it; nothing is bound. */
export function adminAddressOf(
	settings: Settings,
): { readonly host: string; readonly port: number; readonly allowRemote: boolean } | undefined {
	const { value: text, where } = settings.admin;
	if (text === undefined) return undefined;
	const address = { ...placeOf(text, where), allowRemote: settings.adminAny.value };
	refuseRemoteAdmin(address);
	return address;
}

function placeOf(text: string, where: string): { readonly host: string; readonly port: number } {
	try {
		return parseHostPort(text);
	} catch (cause) {
		const hint = /^\d+$/.test(text) ? `; did you mean ":${text}"?` : '';
		const message = `${where} must be HOST:PORT, [IPV6]:PORT or :PORT, not ${JSON.stringify(text)}${hint}`;
		throw new CommandError(EXIT.usage, message, { cause });
	}
}

/** The admin port, if one is asked for. Rejects if it cannot be bound; while a sidecar is replaced it is tried until it is free. */
export async function startAdmin(
	settings: Settings,
	{ sidecar, metrics, model }: AdminParts,
	log: Logger,
): Promise<{ close(): Promise<void> } | undefined> {
	const address = adminAddressOf(settings);
	if (address === undefined) return undefined;
	const failed = (err: unknown): void => log.error({ err }, 'cannot render an admin page');
	const options = {
		...address,
		allowedHosts: settings.adminAllowedHosts.value ?? [],
		registry: metrics.registry,
		readiness: () => sidecar.readiness(),
		acceptFailed: (error: Error) => metrics.observer.acceptFailed?.(error),
		failed,
	};
	let admin: AdminServer | undefined;
	const bind = async (): Promise<{ address: string; close(): Promise<void> }> => {
		const one = new AdminServer({ ...options, site: statusSiteOf(model, failed) });
		const bound = await one.start();
		admin = one;
		return { address: bound, close: () => one.close() };
	};
	const bound = ({ address }: { address: string }): void => log.info({ address }, 'admin port listening');
	const trying = new AbortController();
	// A sidecar whose place is taken has it until then, and longer if it hangs.
	if (!settings.takeOver.value) bound(await bind());
	else {
		const late = (error: Error): void => {
			const event = { step: 'port late', questions: 0, error } as const;
			logTakeOver(log, event);
			metrics.tookOver(event);
		};
		await untilFree({ clock: systemClock, signal: trying.signal, bind, bound, late });
	}
	return {
		close: async () => {
			trying.abort();
			await admin?.close();
		},
	};
}

/** The status page of a sidecar of this process; `failed` receives bugs of ours. */
export function statusSiteOf(model: StatusModel, failed: (error: unknown) => void): StatusSite {
	return new StatusSite({ model, clock: systemClock, failed });
}
