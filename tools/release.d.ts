export interface Release {
	readonly scope: string;
	readonly repository: string | null;
	readonly issues: string | null;
	readonly documentation: string | null;
}
export function checkRelease(release: Release): void;
export function withAddresses(manifest: object, folder: string, release: Release): Readonly<Record<string, unknown>>;
export function documentationAt(release: Release): string;
