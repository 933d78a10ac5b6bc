//! Configuration → a tool system: the composition root.

use std::path::{Path, PathBuf};
use std::sync::Arc;

use exec::spill::Spill;
use toolgate::wire::{Integers, Style};
use toolgate::{
    BuildFault, Builder, Family, Limits, Observer, Pictures, RegistryFault, Toolgate, ToolsConfig, WebSearch,
};

use crate::args::Place;
use crate::config::{self, Config, Dirs};
use crate::fault::Fault;
use crate::shelf::Shelf;

/// What a command needs to answer calls.
pub(crate) struct Composed {
    config: Config,
    builder: Builder,
}

/// Reads the configuration for `place` and puts the tools together.
pub(crate) fn compose(place: &Place) -> Result<Composed, Fault> {
    let cwd = directory(place)?;
    let config = config::load(&cwd, &Dirs::from_env(), place)?;
    let family = Family::of(config.model.value.as_deref().unwrap_or_default());
    let tools = ToolsConfig {
        family,
        only: config.only().map(|only| only.into_iter().collect()),
        without: config.without.iter().map(|name| name.value.clone()).collect(),
        web_search: match config.web_search.value {
            config::WebSearch::Off => WebSearch::Off,
            config::WebSearch::Cached => WebSearch::Cached,
            config::WebSearch::Live => WebSearch::Live,
        },
    };
    let mut builder = Toolgate::at(&cwd)
        .with_tools_for(Pictures { max_side: family.image_side })
        .configured(tools)
        .limits(Limits {
            output_tokens: config.output_tokens.value,
            call_timeout: config.call_timeout(),
            parallel: config.parallel.value,
        });
    if !config.deny_read_defaults.value {
        builder = builder.deny_read_only(Vec::new());
    }
    for pattern in &config.deny_read {
        builder = builder.deny_read(&pattern.value);
    }
    for root in &config.read_roots {
        builder = builder.read_root(&root.value);
    }
    if let Some(state) = Dirs::from_env().state {
        let spill = Spill::new(state.join("outputs"));
        builder = builder.read_kept_in(spill.directory()).keep(Arc::new(Shelf(spill)));
    }
    Ok(Composed { config, builder })
}

impl Composed {
    /// Lets `observer` watch.
    pub(crate) fn observed(mut self, observer: Arc<dyn Observer>) -> Self {
        self.builder = self.builder.observer(observer);
        self
    }

    /// Puts it together.
    pub(crate) fn build(self) -> Result<Toolgate, Fault> {
        let config = self.config;
        self.builder.build().map_err(|fault| match &fault {
            BuildFault::Tools(RegistryFault::NoSuchTool { name, .. }) => {
                let source = config.names(name).map(|source| format!("{source}: ")).unwrap_or_default();
                Fault::usage(format!("{source}{fault}"))
            }
            other => Fault::usage(other.to_string()),
        })
    }

    /// How tools are written for the model's API.
    pub(crate) fn style(&self) -> Style {
        let integers = match self.config.integers.value {
            config::Integers::Keep => Integers::Keep,
            config::Integers::Number => Integers::AsNumber,
        };
        Style { integers, ..Style::default() }
    }
}

/// The directory to work in, as the user spelled it but absolute.
pub(crate) fn directory(place: &Place) -> Result<PathBuf, Fault> {
    #[expect(clippy::disallowed_methods, reason = "this is the composition root")]
    let here = std::env::current_dir()
        .map_err(|error| Fault::usage(format!("the current directory is gone: {error}")))?;
    // Joins, and takes out `.`: what `--cwd .` shows should look like what no `--cwd` shows.
    let asked = here.join(place.cwd.as_deref().unwrap_or(Path::new("")));
    Ok(std::path::absolute(&asked).unwrap_or(asked))
}
