//! The prompts, resources and completions that the suite asks for.

use serde_json::{Value, json};
use toolgate_mcp::serve::{Extra, ExtraFault};

use crate::tools::PNG;

const TEXT: &str = "test://static-text";
const BINARY: &str = "test://static-binary";
const WATCHED: &str = "test://watched-resource";

pub(crate) fn answer(request: &Extra) -> Result<Value, ExtraFault> {
    let params = &request.params;
    match request.method {
        "prompts/list" => Ok(prompts()),
        "prompts/get" => prompt(params),
        "resources/list" => Ok(json!({ "resources": [
            { "uri": TEXT, "name": "static-text", "description": "A text.", "mimeType": "text/plain" },
            { "uri": BINARY, "name": "static-binary", "description": "A picture.", "mimeType": "image/png" },
            { "uri": WATCHED, "name": "watched", "description": "Can be watched.", "mimeType": "text/plain" },
        ] })),
        "resources/templates/list" => Ok(json!({ "resourceTemplates": [{
            "uriTemplate": "test://template/{id}/data", "name": "template",
            "description": "Data by its id.", "mimeType": "application/json",
        }] })),
        "resources/read" => resource(params["uri"].as_str().unwrap_or_default()),
        "completion/complete" => Ok(json!({ "completion": { "values": [], "total": 0, "hasMore": false } })),
        "logging/setLevel" | "resources/subscribe" | "resources/unsubscribe" => Ok(json!({})),
        _ => Err(ExtraFault::NoSuchMethod),
    }
}

fn resource(uri: &str) -> Result<Value, ExtraFault> {
    let id = uri.strip_prefix("test://template/").and_then(|rest| rest.strip_suffix("/data"));
    let content = match (uri, id) {
        (TEXT, _) => {
            let text = "This is the content of the static text resource.";
            json!({ "uri": uri, "mimeType": "text/plain", "text": text })
        }
        (BINARY, _) => json!({ "uri": uri, "mimeType": "image/png", "blob": PNG }),
        (WATCHED, _) => json!({ "uri": uri, "mimeType": "text/plain", "text": "It never changes." }),
        (_, Some(id)) => {
            let data = json!({ "id": id, "templateTest": true, "data": format!("Data for ID: {id}") });
            json!({ "uri": uri, "mimeType": "application/json", "text": data.to_string() })
        }
        (_, None) => return Err(ExtraFault::NoSuchResource { uri: uri.to_owned() }),
    };
    Ok(json!({ "contents": [content] }))
}

fn prompts() -> Value {
    let argument = |name: &str| json!({ "name": name, "description": "Some text.", "required": true });
    json!({ "prompts": [
        { "name": "test_simple_prompt", "description": "Says one thing." },
        { "name": "test_prompt_with_arguments", "description": "Says what it is given.",
          "arguments": [argument("arg1"), argument("arg2")] },
        { "name": "test_prompt_with_embedded_resource", "description": "Holds a resource.",
          "arguments": [argument("resourceUri")] },
        { "name": "test_prompt_with_image", "description": "Holds a picture." },
        { "name": "test_input_required_result_prompt", "description": "Asks first." },
    ] })
}

fn prompt(params: &Value) -> Result<Value, ExtraFault> {
    let argument = |name: &str| params["arguments"][name].as_str().unwrap_or_default().to_owned();
    let says = |text: &str| json!({ "role": "user", "content": { "type": "text", "text": text } });
    let holds = |content: Value| json!({ "role": "user", "content": content });
    let messages = match params["name"].as_str().unwrap_or_default() {
        "test_simple_prompt" => vec![says("This is a simple prompt for testing.")],
        "test_prompt_with_arguments" => {
            let (one, two) = (argument("arg1"), argument("arg2"));
            vec![says(&format!("Prompt with arguments: arg1='{one}', arg2='{two}'"))]
        }
        "test_prompt_with_embedded_resource" => {
            let text = "Embedded resource content for testing.";
            let resource = json!({ "uri": argument("resourceUri"), "mimeType": "text/plain", "text": text });
            let holds = holds(json!({ "type": "resource", "resource": resource }));
            vec![holds, says("Please process the embedded resource above.")]
        }
        "test_prompt_with_image" => {
            let picture = holds(json!({ "type": "image", "data": PNG, "mimeType": "image/png" }));
            vec![picture, says("Please analyze the image above.")]
        }
        "test_input_required_result_prompt" => {
            let Some(context) = params["inputResponses"]["user_context"]["content"]["context"].as_str()
            else {
                return Ok(wants_context());
            };
            vec![says(&format!("Work in this context: {context}"))]
        }
        other => return Err(ExtraFault::BadParams(format!("there is no prompt `{other}`"))),
    };
    Ok(json!({ "messages": messages }))
}

fn wants_context() -> Value {
    let schema = json!({ "type": "object", "properties": { "context": { "type": "string" } }, "required": ["context"] });
    json!({ "resultType": "input_required", "inputRequests": { "user_context": {
        "method": "elicitation/create",
        "params": { "mode": "form", "message": "What context should the prompt use?", "requestedSchema": schema },
    } } })
}
