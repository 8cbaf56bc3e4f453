"""The policies that come with sgaudit, one YAML file each; `sgaudit.policy.load` reads them."""
