interface Schema {
	readonly [key: string]: unknown;
}

export function schemasOfApi(swagger: { readonly definitions: Readonly<Record<string, object>> }): Map<string, Schema>;
export function schemasOfCustomResource(definition: { readonly spec: object }): Map<string, Schema>;
